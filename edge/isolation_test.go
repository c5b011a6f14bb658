package edge

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	segment "github.com/segmentio/kafka-go"

	"github.com/tributary-io/tributary/edge/spool"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/internal/seglog"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
)

// moody passes records on, often late, and sometimes not or with a false answer. It
// notes whether their memory changed while it had them.
type moody struct {
	produce.Producer
	calm    atomic.Bool // no more moods
	changed atomic.Int64
	calls   atomic.Int64
}

func (m *moody) ProducePartition(ctx context.Context, topic string, partition int, batch []wire.Record) error {
	m.calls.Add(1)
	if m.calm.Load() {
		return m.Producer.ProducePartition(ctx, topic, partition, batch)
	}
	seed := maphash.MakeSeed()
	sum := func() uint64 {
		var h maphash.Hash
		h.SetSeed(seed)
		for _, r := range batch {
			_, _ = h.Write(r.Key)
			_, _ = h.Write(r.Value)
		}
		return h.Sum64()
	}
	before := sum()
	defer func() {
		if sum() != before {
			m.changed.Add(1)
		}
	}()
	switch mood := rand.IntN(20); {
	case mood < 3:
		background.Sleep(ctx, time.Duration(rand.IntN(60))*time.Millisecond)
	case mood < 5: // longer than the spool waits, or than requests wait
		background.Sleep(ctx, time.Duration(rand.IntN(700))*time.Millisecond)
	case mood < 6:
		return segment.LeaderNotAvailable
	case mood < 7: // what is written is said not to be
		return errors.Join(m.Producer.ProducePartition(ctx, topic, partition, batch), segment.RequestTimedOut)
	}
	return m.Producer.ProducePartition(ctx, topic, partition, batch)
}

// marker is a text of one request alone. It has letters only, so that nothing of it is
// scrubbed.
var marker = regexp.MustCompile(`mk[a-p]{20}`)

func newMarker() string {
	text := []byte("mk")
	for range 20 {
		text = append(text, 'a'+byte(rand.IntN(16)))
	}
	return string(text)
}

// eventTag is a text of one event alone: its id, in letters.
var eventTag = regexp.MustCompile(`ev[a-p]{32}`)

func tagOf(id string) string {
	return "ev" + strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9':
			return 'a' + r - '0'
		case r >= 'a' && r <= 'f':
			return 'k' + r - 'a'
		}
		return -1
	}, id)
}

// slowFS is a disk on which it takes a while until something is durable.
type slowFS struct{ seglog.FS }

type slowFile struct{ seglog.File }

func (f slowFS) Create(name string) (seglog.File, error) {
	file, err := f.FS.Create(name)
	return slowFile{file}, err
}

func (f slowFile) Sync() error {
	time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
	return f.File.Sync()
}

// sentRequest is one request of a client.
type sentRequest struct {
	mark  string
	ids   []string // of its events, in order
	raw   string
	route string // "events", "pixel", "link", or "refused"
}

// isolationClient sends requests on connections that it keeps, ends at any time, and
// fills with more than one request at once.
type isolationClient struct {
	t       *testing.T
	addr    string
	share   *sharedIDs
	conn    net.Conn
	answers *bufio.Reader
	acked   map[string]bool // events that were answered "ok" or "duplicate"

	seen, good, cut int // answers, those of 200, connections ended before an answer
}

// sharedIDs are events that many clients send at once.
type sharedIDs struct {
	mu  sync.Mutex
	ids []string
}

func (s *sharedIDs) pick(fresh string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ids) == 0 || rand.IntN(4) == 0 {
		s.ids = append(s.ids, fresh)
	}
	return s.ids[len(s.ids)-1]
}

// request makes a request of which all texts hold the marker.
func (c *isolationClient) request() sentRequest {
	mark := newMarker()
	r := sentRequest{mark: mark, route: "events"}
	head := "Host: x\r\nX-Request-Id: " + mark + "\r\nUser-Agent: Agent/" + mark + "\r\nOrigin: " + testOrigin + "\r\n"
	event := func(id string, fill int) string {
		r.ids = append(r.ids, id)
		return fmt.Sprintf(`{"eventId":%q,"event":"PRODUCT_VIEW","payload":{"a":"%s","b\n":"\u00e9%s"},"visitorId":"%s","sessionId":"s-%s",
			"stream":"d-%s",
			"identity":{"customer_id":"%s"},
				"context":{"page":{"url":"https://loja.example.com/%s?utm_source=%s&utm_campaign=%s","title":"T %s%s"},"locale":"pt\u002d%s"}}`,
			id, mark, mark, tagOf(id), mark, mark, tagOf(id), mark, mark, mark, mark, strings.Repeat(" "+mark, fill), mark[:8])
	}
	post := func(body, more string) string {
		return fmt.Sprintf("POST /v1/events HTTP/1.1\r\n%s%sContent-Length: %d\r\n\r\n%s", head, more, len(body), body)
	}
	switch kind := rand.IntN(14); kind {
	case 0, 1, 2:
		r.raw = post(batchOf(event(newID(), 0)), "")
	case 3: // an event that others send too
		id := c.share.pick(newID())
		r.raw = post(batchOf(event(id, 0)), "")
		r.ids = []string{id}
	case 4, 5:
		var events []string
		for range 1 + rand.IntN(30) {
			events = append(events, event(newID(), rand.IntN(5)))
		}
		r.raw = post(batchOf(events...), "")
	case 6: // more than is kept for the next
		var events []string
		for range 70 {
			events = append(events, event(newID(), 20))
		}
		r.raw = post(batchOf(events...), "")
	case 7, 8:
		coding := []string{"gzip", "br", "zstd", "deflate"}[rand.IntN(4)]
		r.raw = post(packed(c.t, coding, batchOf(event(newID(), 3), event(newID(), 0))), "Content-Encoding: "+coding+"\r\n")
	case 9: // one is rejected
		body := batchOf(event(newID(), 0), `{"event":"X","seq":-1,"payload":{"a":"`+mark+`"}}`)
		r.ids = append(r.ids, "")
		r.raw = post(body, "")
	case 10:
		id := newID()
		r.route, r.ids = "pixel", []string{id}
		r.raw = "GET /v1/pixel.gif?companyId=co_test&event=EMAIL_OPEN&eventId=" + id + "&title=" + mark + "&payload=" +
			url.QueryEscape(`{"a":"`+mark+`"}`) + " HTTP/1.1\r\n" + head + "\r\n"
	case 11:
		r.route = "link"
		r.raw = "GET /s/" + testCode + " HTTP/1.1\r\nReferer: https://" + mark + ".example.com/\r\n" +
			strings.Replace(head, "Origin: "+testOrigin+"\r\n", "", 1) + "\r\n"
	case 12:
		r.route = "refused"
		r.raw = post(`{"companyId":"co_test","events":[{"event":"X","payload":{"a":"`+mark+`"}},`, "")
	default:
		r.route = "refused"
		r.raw = strings.Replace(post(batchOf(event(newID(), 0)), ""), testOrigin, "https://"+mark+".example", 1)
		r.ids = nil
	}
	return r
}

func (c *isolationClient) connect() error {
	if c.conn != nil {
		return nil
	}
	conn, err := net.Dial("tcp", c.addr)
	if err != nil {
		return err
	}
	c.conn, c.answers = conn, bufio.NewReader(conn)
	return conn.SetDeadline(time.Now().Add(await.Long))
}

func (c *isolationClient) hangUp() {
	if c.conn != nil {
		if tcp, ok := c.conn.(*net.TCPConn); ok && rand.IntN(2) == 0 {
			_ = tcp.SetLinger(0) // a reset
		}
		c.conn.Close()
		c.conn = nil
	}
}

// turn sends one request, or a few at once, and reads the answers, unless it ends the
// connection first.
func (c *isolationClient) turn() error {
	if err := c.connect(); err != nil {
		return err
	}
	requests := []sentRequest{c.request()}
	for rand.IntN(4) == 0 && len(requests) < 5 {
		requests = append(requests, c.request())
	}
	var all strings.Builder
	for _, r := range requests {
		all.WriteString(r.raw)
	}
	text := all.String()
	how := rand.IntN(12)
	if how == 0 {
		text = text[:rand.IntN(len(text))]
	}
	for len(text) > 0 { // in pieces, sometimes
		n := len(text)
		if rand.IntN(4) == 0 {
			n = 1 + rand.IntN(n)
		}
		if _, err := io.WriteString(c.conn, text[:n]); err != nil {
			return err
		}
		text = text[n:]
	}
	if how <= 1 {
		c.cut++
		c.hangUp()
		return nil
	}
	for _, r := range requests {
		if err := c.read(r); err != nil {
			return err
		}
	}
	return nil
}

// read checks that an answer is of its request alone.
func (c *isolationClient) read(r sentRequest) error {
	response, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		return fmt.Errorf("no answer to %s: %w", r.mark, err)
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil {
		return err
	}
	c.seen++
	var whole bytes.Buffer
	_ = response.Header.Write(&whole)
	whole.Write(body)
	for _, found := range marker.FindAllString(whole.String(), -1) {
		if found != r.mark {
			c.t.Errorf("the answer to %s holds %s:\n%s", r.mark, found, whole.Bytes())
		}
	}
	if got := response.Header.Get("X-Request-Id"); got != r.mark {
		c.t.Errorf("the answer to %s is of %q", r.mark, got)
	}
	status := response.StatusCode
	switch {
	case r.route == "link" && status != 302, r.route == "refused" && status != 400 && status != 403,
		(r.route == "events" || r.route == "pixel") && status != 200 && status != 503:
		c.t.Errorf("%s of %s: %d %s", r.route, r.mark, status, body)
	}
	if status != 200 {
		return nil
	}
	c.good++
	if r.route == "pixel" {
		if string(body) != pixelGIF {
			c.t.Errorf("the picture of %s is %q", r.mark, body)
		}
		c.acked[r.ids[0]] = true
		return nil
	}
	var answer answerBody
	if err := json.Unmarshal(body, &answer); err != nil {
		c.t.Errorf("the answer to %s is no JSON: %s", r.mark, body)
		return nil
	}
	var ids []string
	for _, result := range answer.Results {
		ids = append(ids, result.EventID)
		if result.Status != "rejected" {
			c.acked[result.EventID] = true
		}
	}
	if answer.RequestID != r.mark || !slices.Equal(ids, r.ids) {
		c.t.Errorf("the answer to %s is of %s: %v, sent %v", r.mark, answer.RequestID, ids, r.ids)
	}
	return nil
}

// No answer and no record may hold a byte of another request, and nothing that was
// acknowledged may be missing, whatever clients and Kafka do: the memory of requests
// and records is used again and again.
func TestNoRequestSeesAnotherOnes(t *testing.T) {
	for name, spooled := range map[string]bool{"with a spool": true, "without": false} {
		t.Run(name, func(t *testing.T) { isolation(t, spooled) })
	}
}

func isolation(t *testing.T, spooled bool) {
	const clients, turns = 16, 40
	var producer *moody

	s := newStand(t, func(c *Config, d *Deps) {
		if spooled {

			opened, err := spool.Open(spool.Config{Dir: t.TempDir(), FS: slowFS{seglog.OS{}}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { // after the edge's end
				if err := opened.Close(); err != nil {
					t.Error(err)
				}
			})
			d.Spool = opened
		}
		c.ProduceTimeout, c.MaxConnsPerIP, c.NetworkBurst, c.Burst = 400*time.Millisecond, -1, 1e9, 1e9
		c.ClicksPerSecond, c.ClickBurst, c.ClickRepeat = 1e9, 1e9, time.Nanosecond
		producer = &moody{Producer: d.Producer}
		d.Producer = producer
	})
	share := &sharedIDs{}
	made := make([]*isolationClient, clients)
	var group sync.WaitGroup
	for i := range made {
		c := &isolationClient{t: t, addr: strings.TrimPrefix(s.url, "http://"), share: share, acked: map[string]bool{}}
		made[i] = c
		group.Go(func() {
			defer c.hangUp()
			for range turns {
				if err := c.turn(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	producer.calm.Store(true)
	if spooled {
		s.awaitDrained()
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if n := producer.changed.Load(); n > 0 {
		t.Errorf("in %d of %d produces the records changed", n, producer.calls.Load())
	}
	keys := testHasher(t).Company(testCompany, "BR")
	stored := map[string]bool{}
	marks := map[string]string{} // of events, by id
	for _, topic := range []string{wire.TopicEvents, wire.TopicRejected} {
		for _, r := range s.log(topic) {
			if !json.Valid(r.Value) || string(r.Key) != testCompany {
				t.Errorf("a record of %s: %q %q", topic, r.Key, r.Value)
				continue
			}
			if origins := originsOfRefusals(r.Value); len(origins) > 0 { // of many requests, and nothing but their origins
				for _, origin := range origins {
					if found := marker.FindAllString(origin, -1); len(found) > 1 {
						t.Errorf("a refused origin is of %d requests: %s", len(found), origin)
					}
				}
				continue
			}
			found := marker.FindAllString(string(r.Value), -1)
			slices.Sort(found)
			if found = slices.Compact(found); len(found) > 1 {
				t.Errorf("a record of %s is of %d requests: %s", topic, len(found), r.Value)
			}
			var e wire.Event
			if topic == wire.TopicRejected || wire.IsNotice(r.Value) || json.Unmarshal(r.Value, &e) != nil {
				continue
			}
			stored[e.EventID] = true
			for _, tag := range eventTag.FindAllString(string(r.Value), -1) {
				if tag != tagOf(e.EventID) {
					t.Errorf("event %s holds a text of another: %s", e.EventID, r.Value)
				}
			}
			if e.Via != wire.ViaPixel && e.Via != wire.ViaLink &&
				(e.VisitorID != keys.VisitorID(tagOf(e.EventID)) || e.Identity.CustomerKey != keys.Customer(tagOf(e.EventID))) {
				t.Errorf("event %s has the keys %q, %q of another", e.EventID, e.VisitorID, e.Identity.CustomerKey)
			}
			if len(found) != 1 {
				t.Errorf("an event without its marker: %s", r.Value)
			} else if marks[e.EventID] = cmp.Or(marks[e.EventID], found[0]); marks[e.EventID] != found[0] && !slices.Contains(share.ids, e.EventID) {
				t.Errorf("event %s is of %s and of %s", e.EventID, marks[e.EventID], found[0])
			}
		}
	}
	seen, cut, good, lost := 0, 0, 0, 0
	for _, c := range made {
		seen, cut, good = seen+c.seen, cut+c.cut, good+c.good
		for id := range c.acked {
			if !stored[id] {
				lost++
			}
		}
	}
	if lost > 0 {
		t.Errorf("%d acknowledged events are not in the log", lost)
	}
	if good == 0 || cut == 0 || len(stored) == 0 || producer.calls.Load() == 0 {
		t.Error("the test tested nothing")
	}
	t.Logf("%d answers, %d of them 200, %d connections cut, %d events, %d produces", seen, good, cut, len(stored), producer.calls.Load())
}

// originsOfRefusals are the origins of a notice that tells of refused ones alone; none of any other record.
func originsOfRefusals(record []byte) (origins []string) {
	var n wire.Notice
	if !wire.IsNotice(record) || json.Unmarshal(record, &n) != nil {
		return nil
	}
	for _, refused := range n.Refused {
		origins = append(origins, refused.Origin)
	}
	n.ID, n.Refused = nil, nil
	if !reflect.DeepEqual(n, wire.Notice{V: n.V, CompanyID: n.CompanyID, ReceivedAt: n.ReceivedAt}) {
		return nil // it tells of more: not what it should be
	}
	return origins
}
