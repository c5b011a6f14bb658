package webhook

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/devtest"
)

// received is a message as an endpoint gets it, with the secret that the endpoint has.
type received struct {
	Secret  string            `json:"secret"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

func (r received) with(change func(r *received)) received {
	headers := map[string]string{}
	for name, value := range r.Headers {
		headers[name] = value
	}
	r.Headers = headers
	change(&r)
	return r
}

// What a sender sends is verified by the libraries of Standard Webhooks, in Go and in JavaScript (.ci/webhooks), also while there are two
// secrets. What anybody changed, what is old, and what is of another secret they refuse.
func TestTheLibrariesOfStandardWebhooksVerifyOurMessages(t *testing.T) {
	t.Parallel()
	devtest.NeedsIntegration(t)
	const former = "whsec_Zm9ybWVyIHNlY3JldCBvZiB0aGUgZW5kcG9pbnQh"
	var got received
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = received{Secret: vectorSecret, Headers: map[string]string{}, Body: string(body)}
		for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
			got.Headers[name] = r.Header.Get(name)
		}
	}))
	defer server.Close()
	s := newSender(t, true)
	one := message
	one.Data = json.RawMessage(`{"name":"São João <&> \u2028 \"é\""}`)
	send := func(at time.Time, secrets ...string) received {
		t.Helper()
		s.now = func() time.Time { return at }
		if r := s.send(t.Context(), commerce.LeasedDestination{URL: server.URL}, secrets, one); r.Try.Failure != "" {
			t.Fatalf("%+v", r.Try)
		}
		return got
	}
	good := send(time.Now(), vectorSecret)
	both := send(time.Now(), vectorSecret, former)
	old := send(time.Now().Add(-time.Hour), vectorSecret)
	cases := []received{
		good, both, both.with(func(r *received) { r.Secret = former }),
		good.with(func(r *received) { r.Secret = former }),
		good.with(func(r *received) { r.Body += " " }),
		good.with(func(r *received) { r.Headers["webhook-id"] = "msg_2" }),
		good.with(func(r *received) { r.Headers["webhook-timestamp"] = both.Headers["webhook-timestamp"] + "0" }),
		old,
	}
	want := []bool{true, true, true, false, false, false, false, false}
	asked, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	home, err := filepath.Abs(filepath.Join("..", "..", ".ci", "webhooks"))
	if err != nil {
		t.Fatal(err)
	}
	run := func(input []byte, name string, args ...string) []byte {
		t.Helper()
		command := exec.CommandContext(t.Context(), name, args...)
		var problems bytes.Buffer
		command.Dir, command.Stdin, command.Stderr = home, bytes.NewReader(input), &problems
		out, err := command.Output()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, problems.Bytes())
		}
		return out
	}
	run(nil, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	for library, out := range map[string][]byte{"Go": run(asked, "go", "run", "."), "JavaScript": run(asked, "node", "verify.mjs")} {
		var accepted []bool
		if err := json.Unmarshal(out, &accepted); err != nil || !slices.Equal(accepted, want) {
			t.Errorf("%s accepts %s, want %v", library, out, want)
		}
	}
}
