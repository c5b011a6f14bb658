package admin_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/devtest"
)

// lines are sent as lines.
const contentType, lines = "Content-Type", "application/x-ndjson"

// bulkLine is an order as a line.
func bulkLine(id, total string) string {
	return `{"orderId":"` + id + `","orderStatus":0,"createdAt":"2026-03-09T11:00:00Z","totalPrice":` + total + `,"currency":"BRL"}`
}

// told is the data of an answer of POST /orders, a line each: its number, order, status and what is told of it.
func told(t *testing.T, got answer) (list []string) {
	t.Helper()
	var data struct {
		Accepted, Refused int
		Results           []struct {
			Line, Status int
			OrderID      string
			Warnings     []struct{ Field, Code string }
			Error        *struct {
				Code    string
				Details []struct{ Field, Code string }
			}
		}
	}
	if err := json.Unmarshal(got.Data, &data); err != nil {
		t.Fatalf("%d %s: %v", got.Status, got.Data, err)
	}
	for _, r := range data.Results {
		text := strings.TrimRight(fmt.Sprintf("%d %s %d %v", r.Line, r.OrderID, r.Status, r.Warnings), "[] ")
		if r.Error != nil {
			text = fmt.Sprintf("%d %s %d %s %v", r.Line, r.OrderID, r.Status, r.Error.Code, r.Error.Details)
		}
		list = append(list, text)
	}
	if data.Accepted+data.Refused != len(data.Results) {
		t.Errorf("%d accepted and %d refused of %d", data.Accepted, data.Refused, len(data.Results))
	}
	return list
}

func TestManyOrdersAreTakenLineByLine(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	body := strings.Join([]string{
		bulkLine("o1", "10.50"),
		"",
		`{"orderId":"o2","orderStatus":0,`,
		bulkLine("o3", `"a lot"`),
		strings.Replace(bulkLine("o4", "20"), "{", `{"discount_code":"ANA","customer":{"email":"ana@example.com"},`, 1),
		`["o5"]`,
		bulkLine("o1", "11"),
	}, "\r\n")
	got := s.call("POST", "/admin/v1/orders", s.live, body, contentType, lines)
	s.want(got, 200, "")
	want := []string{"1 o1 200", "3  400 invalid_json []", "4 o3 400 validation_error [{totalPrice invalid_format}]",
		"5 o4 200 [{discount_code unknown_field}", "6  400 validation_error [{$ invalid_type}]", "7 o1 200"}
	if got := told(t, got); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var sent []string
	var last time.Time
	s.read(wire.TopicBulk, 8, func(r kafka.Record) bool {
		var c wire.Commerce
		var order wire.Order
		if json.Unmarshal(r.Value, &c) != nil || c.Kind != wire.KindOrder {
			return false
		}
		if err := json.Unmarshal(c.Body, &order); err != nil || !c.AcceptedAt.After(last) || string(r.Key) != s.store.Live.CompanyID {
			t.Errorf("%s: %v", r.Value, err)
		}
		if c.ID == "o4" && (order.EmailKey.Value == "" || len(c.Warnings) != 1) ||
			bytes.Contains(order.Personal, []byte("ana@")) != (c.ID == "o4") {
			t.Errorf("the shopper, or the warning: %s", r.Value)
		}
		last, sent = c.AcceptedAt, append(sent, fmt.Sprint(c.ID, " ", order.TotalMinor))
		return len(sent) == 3
	})
	if got := strings.Join(sent, ", "); got != "o1 1050, o4 2000, o1 1100" {
		t.Errorf("on Kafka: %s", got)
	}
}

func TestManyOrdersAreRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{BulkRate: admin.Rate{PerSecond: 1000, Burst: 1000}})
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(bulkLine(fmt.Sprint("o", i), "10") + "\n")
		}
		return b.String()
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, _ = writer.Write([]byte(many(3)))
	_ = writer.Close()
	for _, f := range []struct {
		what, body, media string
		status            int
		code              string
	}{
		{"500 lines", many(500), lines, 200, ""},
		{"another name of the media type", many(1), "application/jsonl", 200, ""},
		{"501 lines", many(501), lines, 413, "payload_too_large"},
		{"500 lines and blank ones", many(500) + "\n\n", lines, 200, ""},
		{"above 1 MiB", many(1) + strings.Repeat(" ", 1<<20), lines, 413, "payload_too_large"},
		{"no line", " \n\n", lines, 400, "invalid_json"},
		{"JSON", many(1), "application/json", 415, "unsupported_media_type"},
	} {
		got := s.call("POST", "/admin/v1/orders", s.live, f.body, contentType, f.media, "Prefer", "handling=lenient")
		if got.Status != f.status || f.code != "" && got.Error.Code != f.code {
			t.Errorf("%s: %d %+v", f.what, got.Status, got.Error)
		}
	}
	got := s.call("POST", "/admin/v1/orders", s.live, packed.String(), contentType, lines, "Content-Encoding", "gzip")
	if list := told(t, got); len(list) != 3 {
		t.Errorf("gzipped: %q", list)
	}
	got = s.call("POST", "/admin/v1/orders", s.live, `{"hello":1}`, contentType, lines, "Prefer", "handling=strict")
	if list := told(t, got); len(list) != 1 || !strings.Contains(list[0], "{hello unknown_field}") {
		t.Errorf("strict: %q", list)
	}
	s.want(s.call("POST", "/admin/v1/orders", s.key(s.store.Live.CompanyID, account.WriteProducts), many(1), contentType, lines),
		403, "insufficient_scope")
}

// The bound of requests of many orders is its own: it is used up, and single orders are taken still.
func TestManyOrdersHaveABoundOfTheirOwn(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := startWith(t, admin.Config{BulkRate: admin.Rate{PerSecond: 1, Burst: 2}}, devtest.Postgres(t), devtest.Kafka(t),
		func(d *admin.Deps) { d.Now = func() time.Time { return now } })
	for i, status := range []int{200, 200, 429} {
		if got := s.call("POST", "/admin/v1/orders", s.live, bulkLine("o1", "10"), contentType, lines); got.Status != status {
			t.Errorf("request %d: %d", i, got.Status)
		}
	}
	s.want(s.call("POST", "/admin/v1/order", s.live, bulkLine("o1", "10")), 200, "")
}

// failing is a producer that Kafka does not answer. It counts the orders that are tried.
type failing struct{ tried atomic.Int64 }

func (f *failing) Produce(_ context.Context, _ string, records ...wire.Record) error {
	for _, r := range records {
		if bytes.Contains(r.Value, []byte(`"kind":"order"`)) {
			f.tried.Add(1)
		}
	}
	return errors.New("no broker answers")
}

// No line is told to be taken where Kafka did not take all of them; where every line is wrong, Kafka is not asked.
func TestNoLineIsTakenThatKafkaDoesNotHave(t *testing.T) {
	t.Parallel()
	var kafka failing
	s := startWith(t, admin.Config{}, devtest.Postgres(t), devtest.Kafka(t), func(d *admin.Deps) { d.Producer = &kafka })
	got := s.call("POST", "/admin/v1/orders", s.live, bulkLine("o1", "10")+"\n{}", contentType, lines)
	s.want(got, http.StatusServiceUnavailable, "unavailable")
	if got.Data != nil || got.Header.Get("Retry-After") == "" {
		t.Errorf("%s, Retry-After %q", got.Data, got.Header.Get("Retry-After"))
	}
	s.want(s.call("GET", "/admin/v1/order/o1/attribution", s.live, ""), 404, "not_found")
	got = s.call("POST", "/admin/v1/orders", s.live, "{}", contentType, lines)
	s.want(got, 200, "")
	if kafka.tried.Load() != 1 {
		t.Errorf("%d orders were sent", kafka.tried.Load())
	}
}

func TestManyOrdersAreSentOnceByAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	body := bulkLine("o1", "10") + "\nno JSON\n"
	first := s.call("POST", "/admin/v1/orders", s.live, body, contentType, lines, "Idempotency-Key", "k1", "Prefer", "handling=lenient")
	again := s.call("POST", "/admin/v1/orders", s.live, body, contentType, lines, "Idempotency-Key", "k1", "Prefer", "handling=lenient")
	if first.Status != 200 || again.Status != 200 || again.Header.Get("Idempotent-Replayed") != "true" ||
		!bytes.Equal(first.Data, again.Data) {
		t.Errorf("%d %s, then %d %s", first.Status, first.Data, again.Status, again.Data)
	}
	other := s.call("POST", "/admin/v1/orders", s.live, bulkLine("o2", "10"), contentType, lines, "Idempotency-Key", "k1")
	s.want(other, 422, "idempotency_key_mismatch")
}
