package core_test

import (
	"strings"
	"testing"

	"github.com/tributary-io/tributary/sdk/core"
)

func TestRecordableTimes(t *testing.T) {
	const first, last = 0, 7258118399999 // 1970-01-01T00:00:00.000Z, 2199-12-31T23:59:59.999Z
	for ms, want := range map[int64]bool{first - 1: false, first: true, last: true, last + 1: false} {
		if core.Recordable(ms) != want {
			t.Errorf("Recordable(%d) is %v", ms, !want)
		}
	}
}

func TestFractionsOfASecond(t *testing.T) {
	f := func(text string, want int64, ok bool) {
		t.Helper()
		if got, is := core.ParseTime(text); got != want || is != ok {
			t.Errorf("ParseTime(%s) = %d, %v; want %d, %v", text, got, is, want, ok)
		}
	}
	f("1970-01-01T00:00:00.999Z", 999, true)
	f("1970-01-01T00:00:00.090999999Z", 90, true)
	f("1970-01-01T00:00:00.5", 0, false)
	f("1970-01-01T00:00:00.", 0, false)
}

func TestInvalidUTF8IsReplaced(t *testing.T) {
	for text, want := range map[string]string{
		"\x80": `"` + "\uFFFD" + `"`, "a\xffz": `"a` + "\uFFFD" + `z"`, "\uFFFD": `"` + "\uFFFD" + `"`, "é\u0080": `"é` + "\u0080" + `"`,
	} {
		if got := string(core.AppendString(nil, text)); got != want {
			t.Errorf("AppendString(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestCompanyIDsOf64BytesAreTaken(t *testing.T) {
	f := func(body, company string, taken bool) {
		t.Helper()
		if _, v := core.ParseBatch(body, company, options()); (v == nil) != taken {
			t.Errorf("%d bytes: %v", max(len(company), len(body)), v)
		}
	}
	for n, taken := range map[int]bool{64: true, 65: false} {
		id := strings.Repeat("c", n)
		f(`{"event":"PAGE_VIEW"}`, id, taken)
		f(`{"companyId":"`+id+`","events":[{"event":"PAGE_VIEW"}]}`, "", taken)
	}
}

// The campaign of an address counts however long the address is: shops' filters and ad
// networks write long queries, and the UTM values often stand at the end.
func TestALongAddressKeepsItsCampaign(t *testing.T) {
	long := strings.Repeat("x", 3000)
	f := func(url, want string) {
		t.Helper()
		b, v := core.ParseBatch(`{"event":"PAGE_VIEW","context":{"page":{"url":"`+url+`"}}}`, "loja", options())
		if v != nil || b.Items[0].Err != nil {
			t.Fatal(v, b.Items[0].Err)
		}
		c := b.Items[0].Event.Context
		if c.Page.URL != want || len(want) > 2048 {
			t.Errorf("%.60s… is %q, want %q", url, c.Page.URL, want)
		}
		if campaign, _ := core.ParseCampaign(url); c.Campaign != campaign {
			t.Errorf("%.60s… came by %+v, want %+v", url, c.Campaign, campaign)
		}
	}
	f("https://loja.example.com/p?f="+long+"&utm_source=influencer&utm_campaign=Ana+Prado&trb_click=a.b",
		"https://loja.example.com/p?utm_source=influencer&utm_campaign=Ana+Prado&trb_click=a.b")
	f("https://loja.example.com/p?utm_campaign=Ana&f="+long+"&utm_campaign=Beto", "https://loja.example.com/p?utm_campaign=Ana")
	f("https://loja.example.com/p?utm_campaign=%20&f="+long+"&utm_campaign=Beto", "https://loja.example.com/p?utm_campaign=Beto")
	f("https://loja.example.com/#/p?f="+long+"&utm_campaign=Ana", "https://loja.example.com/#/p?utm_campaign=Ana")
	f("https://loja.example.com/a/"+long+"?utm_campaign=Ana", "https://loja.example.com/a/?utm_campaign=Ana")
	f("https://loja.example.com/p?f="+long, ("https://loja.example.com/p?f=" + long)[:2048])
}

func TestPathsAndTextsAtTheirBounds(t *testing.T) {
	f := func(context string, want core.Page) {
		t.Helper()
		b, v := core.ParseBatch(`{"event":"PAGE_VIEW","context":{"page":`+context+`}}`, "loja", options())
		if v != nil || b.Items[0].Err != nil {
			t.Fatalf("%s: %v %v", context, v, b.Items[0].Err)
		}
		if got := b.Items[0].Event.Context.Page; got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", context, got, want)
		}
	}
	f(`{"url":"https://?a/b"}`, core.Page{URL: "https://?a/b", Path: "/"})
	f(`{"url":"https:///p"}`, core.Page{URL: "https:///p", Path: "/p"})
	f(`{"url":"https://x#/p"}`, core.Page{URL: "https://x#/p", Path: "/"})
	title := strings.Repeat("t", 512)
	f(`{"title":"`+title+`"}`, core.Page{Title: title})
	f(`{"title":"`+title+`t"}`, core.Page{Title: title})
	f(`{"title":"`+title[1:]+`é"}`, core.Page{Title: title[1:]})
}
