package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/test/await"
)

// answer is an HTTP answer, read whole.
type answer struct {
	status int
	body   []byte
}

// call sends one request of the admin API (or the edge, with no key).
func call(ctx context.Context, method, url, key string, body any) (answer, error) {
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = bytes.NewBufferString(b)
	default:
		text, err := json.Marshal(body)
		if err != nil {
			return answer{}, err
		}
		reader = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, url, reader)
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 8<<20))
	return answer{response.StatusCode, text}, err
}

// mustCall is call for what must be answered 200; data of the envelope lands in into. A busy service's 503 asks for the same once more.
func mustCall(t *testing.T, method, url, key string, body, into any) {
	t.Helper()
	var got answer
	await.Until(t, await.Long, func() bool {
		var err error
		if got, err = call(t.Context(), method, url, key, body); err != nil {
			t.Fatalf("%s %s: %v", method, url, err)
		}
		return got.status != http.StatusServiceUnavailable
	}, func() string { return fmt.Sprintf("%s %s: %s", method, url, got.body) })
	if got.status != http.StatusOK {
		t.Fatalf("%s %s: %d %s", method, url, got.status, got.body)
	}
	if into == nil {
		return
	}
	var envelope struct{ Data json.RawMessage }
	if err := json.Unmarshal(got.body, &envelope); err != nil {
		t.Fatalf("%s %s: %v: %s", method, url, err, got.body)
	}
	if err := json.Unmarshal(envelope.Data, into); err != nil {
		t.Fatalf("%s %s: data: %v: %s", method, url, err, got.body)
	}
}

// explain waits until the order is processed and settled says it is as it should be.
func (d *dev) explain(t *testing.T, orderID string, settled func(facts.Explanation) bool) facts.Explanation {
	t.Helper()
	var last answer
	var e facts.Explanation
	await.Until(t, await.Long, func() bool {
		got, err := call(t.Context(), http.MethodGet, d.AdminURL+"/order/"+orderID+"/attribution", d.APIKey, nil)
		if err != nil {
			return false
		}
		last = got
		if got.status != http.StatusOK {
			return false
		}
		var envelope struct{ Data facts.Explanation }
		if err := json.Unmarshal(got.body, &envelope); err != nil {
			t.Fatalf("explanation of %s: %v: %s", orderID, err, got.body)
		}
		e = envelope.Data
		return settled == nil || settled(e)
	}, func() string { return fmt.Sprintf("order %s is not explained: %d %s", orderID, last.status, last.body) })
	return e
}

// query reads one row of numbers or texts from dev's Postgres.
func (d *dev) query(t *testing.T, into []any, sql string, args ...any) {
	t.Helper()
	queryOne(t, d.Postgres, into, sql, args...)
}

func queryOne(t *testing.T, dsn string, into []any, sql string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatalf("connect to Postgres: %v", err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(into...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// wantCount waits until a query of one number gives want: what was accepted is
// processed a moment later.
func wantCount(t *testing.T, dsn, what string, want int64, sql string, args ...any) {
	t.Helper()
	var got int64
	await.Until(t, await.Long, func() bool {
		queryOne(t, dsn, []any{&got}, sql, args...)
		return got == want
	}, func() string { return fmt.Sprintf("%s: %d, want %d", what, got, want) })
}
