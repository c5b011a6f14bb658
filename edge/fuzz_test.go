package edge

import (
	"bytes"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// FuzzPixel holds that a query becomes one event and nothing else: no value of it
// adds a member, and each is read back as it was.
func FuzzPixel(f *testing.F) {
	for _, query := range []string{
		"companyId=c&event=PAGE_VIEW&url=https%3A%2F%2Fx.example%2F%3Fa%3D%22&title=%00%ff",
		`payload={"a":1},"visitorId":"x"`, `payload={"a":1}}&visitorId=%22%7D`, "payload=%5B1%5D", "event=%22%2C%22identity%22%3A%7B%7D",
		"visitorId=a&visitorId=b&timestamp=2026-01-01T00:00:00Z", "payload=null", "url=%",
		"event=page_view&payload=%7B%22a%22%3A%22%5Cu0022%22%7D",
	} {
		f.Add(query, "https://mail.example/")
	}
	f.Fuzz(func(t *testing.T, query, referer string) {
		var args fasthttp.Args
		args.Parse(query)
		body, violation := pixelBody(&args, referer)
		if violation != nil {
			if payload := args.Peek("payload"); json.Valid(payload) && len(payload) < 300 {
				t.Fatalf("the payload %q is refused", payload)
			}
			return
		}
		var got struct {
			Event, EventID, Timestamp, VisitorID, SessionID string

			Payload json.RawMessage
			Context struct {
				Page struct{ URL, Referrer, Title string }
			}
		}
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&got); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		if _, err := decoder.Token(); err != io.EOF {
			t.Fatalf("%s goes on after the event", body)
		}
		for name, value := range map[string]string{
			"eventId": got.EventID, "timestamp": got.Timestamp, "visitorId": got.VisitorID, "sessionId": got.SessionID,
			"referrer": got.Context.Page.Referrer, "title": got.Context.Page.Title,
		} {
			if want := string(args.Peek(name)); utf8.ValidString(want) && value != want {
				t.Errorf("%s is %q, want %q", name, value, want)
			}
		}
		batch, violation := core.ParseBatch(string(body), "c", core.Options{Now: 1})
		if violation == nil && len(batch.Items) != 1 {
			t.Errorf("%s has %d events", body, len(batch.Items))
		}
	})
}

// FuzzShortLink holds that a destination keeps what it had, but for our
// parameters, which it has once each, and that it is one line of a header.
func FuzzShortLink(f *testing.F) {
	for _, destination := range []string{
		testLink, "https://x.example/?utm%5Fsource=a&utm_source=b&trb_click=c&&=&d#f", "https://x.example?a=%zz&b=+;c",
		"https://x.example/#/p?utm_medium=x",
		"//x.example/%2F?%00", "https://u:p@x.example:8443/é?é=é",
	} {
		f.Add(destination, "Ana & Prado", "Verão=26")
	}
	s := &Server{signer: identity.NewSigner(testHasher(f), nil)}
	f.Fuzz(func(t *testing.T, destination, influencer, campaign string) {
		before, err := url.Parse(destination)
		if err != nil {
			return
		}
		link := &wire.Link{URL: destination, Influencer: influencer, Campaign: campaign}
		signed := s.signer.Sign(identity.SignedClick, "Ab12Cd.018f3f5e-7b2a-7c3d-8e4f-0123456789ab")
		u, err := s.destination(link, signed, true)
		if err != nil {
			t.Fatal(err)
		}
		location := u.String()
		if strings.ContainsAny(location, "\r\n\x00") {
			t.Fatalf("%q is more than a line", location)
		}
		after, err := url.Parse(location)
		if err != nil {
			t.Fatalf("%q became %q: %v", destination, location, err)
		}
		if after.Scheme != before.Scheme || after.Host != before.Host || after.Path != before.Path || after.Fragment != before.Fragment {
			t.Errorf("%q became %q", destination, location)
		}
		names := map[string]string{"utm_source": linkSource, "utm_medium": linkMedium, "utm_campaign": influencer, "utm_content": campaign,
			core.TrbClick: signed}
		var kept []string // of the destination's own
		for pair := range strings.SplitSeq(before.RawQuery, "&") {
			name, _, _ := strings.Cut(pair, "=")
			if unescaped, err := url.QueryUnescape(name); err == nil {
				name = unescaped
			}
			if names[name] == "" && pair != "" {
				kept = append(kept, pair)
			}
		}
		if !strings.HasPrefix(after.RawQuery, strings.Join(kept, "&")) {
			t.Errorf("%q lost some of %q", after.RawQuery, kept)
		}
		values, _ := url.ParseQuery(after.RawQuery) // what it cannot read is not ours
		for name, want := range names {
			if got := values[name]; want != "" && !slices.Equal(got, []string{want}) {
				t.Errorf("%s of %q is %q, want %q", name, location, got, want)
			}
		}
		if c, ids := core.ParseCampaign(location); before.RawQuery == "" &&
			!slices.Contains(ids, core.Param{Name: core.TrbClick, Value: signed}) {
			t.Errorf("a page does not find our click in %q: %v %v", location, c, ids)
		}
	})
}

// FuzzLandingClick holds that a click in a page's URL is verified only where it
// is, to the byte, one that we signed.
func FuzzLandingClick(f *testing.F) {
	signer := identity.NewSigner(testHasher(f), nil)
	s := &Server{signer: signer}
	sound := signer.Sign(identity.SignedClick, "Ab12Cd.018f3f5e-7b2a-7c3d-8e4f-0123456789ab")
	for _, text := range []string{sound, sound[:len(sound)-1], "x" + sound, sound + "&trb_click=" + sound, "%41" + sound[1:],
		strings.ToUpper(sound), "Ab12Cd.018f3f5e-7b2a-7c3d-8e4f-0123456789ab", ".1", "a.b.1aaaaaaaaaaaa"} {
		f.Add("https://x.example/?" + core.TrbClick + "=" + text)
	}
	f.Fuzz(func(t *testing.T, pageURL string) {
		click := s.landingClick(pageURL)
		if click == nil {
			return
		}
		if shortCode(click.Code) != click.Code || !core.ValidUUIDv7(click.ID) || click.ID != strings.ToLower(click.ID) {
			t.Errorf("%q has the click %+v", pageURL, click)
		}
		_, ids := core.ParseCampaign(pageURL)
		at := slices.IndexFunc(ids, func(p core.Param) bool { return p.Name == core.TrbClick })
		text, _, _ := wire.CutMAC(ids[at].Value)
		if click.Verified && ids[at].Value != signer.Sign(identity.SignedClick, text) {
			t.Errorf("%q is verified", pageURL)
		}
	})
}
