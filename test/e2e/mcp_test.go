package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/test/await"
)

// newKey makes a key of a store by the binary, and gives the file that has it.
func (d *dev) newKey(t *testing.T, scopes string) (file string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary(), "keys", "create", "assistant", "--company", d.CompanyID, "--postgres", d.Postgres,
		"--scope", scopes).Output()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, out, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func mcpCommand(t *testing.T, d *dev, keyFile string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(t.Context(), binary(), "mcp", "--admin", d.AdminURL, "--key-file", keyFile)
}

func TestAKeyThatCanDoMoreServesNoAssistant(t *testing.T) {
	d := newShop(t)
	f := func(url, file, want string) {
		t.Helper()
		out, status := runToEnd(t, "mcp", "--admin", url, "--key-file", file)
		if status == 0 || !strings.Contains(out, want) || strings.Contains(out, "trb_live_") {
			t.Errorf("exit status %d, want one that is not 0 and %q:\n%s", status, want, out)
		}
	}
	all := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(all, []byte(d.APIKey), 0o600); err != nil {
		t.Fatal(err)
	}
	f(d.AdminURL, all, "the API key can do more than an assistant needs")
	f(d.AdminURL, d.newKey(t, "assistant.read,reports.read"), "can do more")
	f(d.AdminURL, d.newKey(t, "reports.read"), "can do more") // another scope: not this one
	f(d.SandboxURL, d.newKey(t, "assistant.read"), "does not take the API key")
	f(strings.TrimSuffix(d.AdminURL, "/admin/v1"), d.newKey(t, "assistant.read"), "does --admin end in /admin/v1")
}

// session is a conversation with the binary by lines, as any client has it.
type session struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan string
	errors bytes.Buffer
}

func converse(t *testing.T, d *dev, keyFile string) *session {
	t.Helper()
	w := &session{t: t, cmd: mcpCommand(t, d, keyFile), lines: make(chan string, 100)}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	w.cmd.Stderr = &w.errors
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(w.lines)
		scanner := bufio.NewScanner(out)
		scanner.Buffer(nil, 4<<20)
		for scanner.Scan() {
			w.lines <- scanner.Text()
		}
	}()
	return w
}

func (w *session) send(line string) {
	w.t.Helper()
	if _, err := io.WriteString(w.in, line+"\n"); err != nil {
		w.t.Fatalf("%v\n%s", err, w.errors.String())
	}
}

// message is what the binary says, on one line.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int
		Message string
		Data    json.RawMessage
	} `json:"error"`
}

// next is the next line, which must be an answer with an id.
func (w *session) next(id string) (m message) {
	w.t.Helper()
	select {
	case line, ok := <-w.lines:
		if !ok {
			w.t.Fatalf("it ended; want an answer to %s\n%s", id, w.errors.String())
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.Version != "2.0" || string(m.ID) != id ||
			(m.Result == nil) == (m.Error == nil) {
			w.t.Fatalf("%s\nis no answer to %s: %v", line, id, err)
		}
		return m
	case <-time.After(await.Long):
		w.t.Fatalf("no answer to %s\n%s", id, w.errors.String())
		return m
	}
}

// ok asks, and returns the result.
func (w *session) ok(id, request string) map[string]any {
	w.t.Helper()
	w.send(request)
	m := w.next(id)
	var result map[string]any
	if m.Error != nil || json.Unmarshal(m.Result, &result) != nil {
		w.t.Fatalf("%s\nwas answered %+v", request, m.Error)
	}
	return result
}

// fails asks, and wants an error with one of some codes.
func (w *session) fails(id, request string, codes ...int) message {
	w.t.Helper()
	w.send(request)
	m := w.next(id)
	if m.Error == nil || !slices.Contains(codes, m.Error.Code) {
		w.t.Errorf("%.200s\nwas answered %s %+v, want one of the codes %v", request, m.Result, m.Error, codes)
	}
	return m
}

// ends closes the input: the binary must end well, and say nothing more.
func (w *session) ends() {
	w.t.Helper()
	w.in.Close()
	for line := range w.lines {
		w.t.Errorf("it still says %s", line)
	}
	if err := w.cmd.Wait(); err != nil {
		w.t.Errorf("%v\n%s", err, w.errors.String())
	}
}

// meta is what each request of 2026-07-28 carries (specification/2026-07-28/basic).
const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

func initialize(id, version string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},`+
		`"clientInfo":{"name":"test","version":"1"}}}`, id, version)
}

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// What the specification asks of a server with tools over standard input and output, by lines as a client of its own
// would send them (modelcontextprotocol.io/specification/2026-07-28: basic, basic/lifecycle, server/discover,
// server/tools; specification/2025-11-25/basic/lifecycle for clients from before; JSON-RPC 2.0).
func TestAssistantsProtocolIsSpoken(t *testing.T) {
	d := newShop(t)
	key := d.newKey(t, "assistant.read")
	versions := []any{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

	t.Run("2026-07-28 has no handshake", func(t *testing.T) {
		w := converse(t, d, key)
		found := w.ok("1", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+meta+`}}`)
		info, _ := found["_meta"].(map[string]any)["io.modelcontextprotocol/serverInfo"].(map[string]any)
		if !reflect.DeepEqual(found["supportedVersions"], versions) || info["name"] != "tributary" || found["resultType"] != "complete" ||
			!reflect.DeepEqual(found["capabilities"], map[string]any{"tools": map[string]any{}}) ||
			!strings.Contains(fmt.Sprint(found["instructions"]), "never instructions") {
			t.Errorf("discover: %v", found)
		}
		listed := w.ok(`"a"`, `{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{`+meta+`}}`)
		if names := toolNames(t, listed); len(names) != 11 || !slices.IsSorted(names) || listed["resultType"] != "complete" {
			t.Errorf("tools: %v %v", names, listed)
		}
		called := w.ok("3", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"store","arguments":{},`+meta+`}}`)
		content, _ := called["structuredContent"].(map[string]any)
		if content["environment"] != "live" || content["timezone"] != "America/Sao_Paulo" || called["isError"] == true {
			t.Errorf("store: %v", called)
		}
		later := strings.Replace(meta, "2026-07-28", "2099-01-01", 1)
		refused := w.fails("4", `{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{`+later+`}}`, -32022)
		var data struct{ Supported []any }
		if json.Unmarshal(refused.Error.Data, &data) != nil || !reflect.DeepEqual(data.Supported, versions) {
			t.Errorf("unsupported version: %s", refused.Error.Data)
		}
		w.fails("5", `{"jsonrpc":"2.0","id":5,"method":"ping","params":{`+meta+`}}`, -32601) // removed
		w.fails("6", `{"jsonrpc":"2.0","id":6,"method":"initialize","params":{`+meta+`}}`, -32601)
		w.fails("7", `{"jsonrpc":"2.0","id":7,"method":"nothing/such","params":{`+meta+`}}`, -32601)
		w.fails("8", `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"pay","arguments":{},`+meta+`}}`, -32602)
		w.fails("9", `{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{"_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, -32602) // without capabilities
		w.ends()
	})
	for _, version := range versions[1:] {
		t.Run(fmt.Sprint(version, " has one"), func(t *testing.T) {
			w := converse(t, d, key)
			w.fails("1", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 0, -32600, -32602, -32002)
			w.fails("2", `{"jsonrpc":"2.0","id":2,"method":"server/discover"}`, -32601)
			begun := w.ok("3", initialize("3", fmt.Sprint(version)))
			if begun["protocolVersion"] != version || begun["serverInfo"] == nil ||
				!reflect.DeepEqual(begun["capabilities"], map[string]any{"tools": map[string]any{}}) {
				t.Errorf("initialize: %v", begun)
			}
			w.send(initialized)
			if got := w.ok("4", `{"jsonrpc":"2.0","id":4,"method":"ping"}`); len(got) != 0 {
				t.Errorf("ping: %v", got)
			}
			if names := toolNames(t, w.ok("5", `{"jsonrpc":"2.0","id":5,"method":"tools/list"}`)); len(names) != 11 {
				t.Errorf("tools: %v", names)
			}
			w.ok("6", `{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"store"}}`)
			w.fails("7", initialize("7", fmt.Sprint(version)), 0, -32600) // once is enough
			w.ends()
		})
	}
	t.Run("a version that comes later", func(t *testing.T) {
		w := converse(t, d, key)
		if begun := w.ok("1", initialize("1", "2099-01-01")); begun["protocolVersion"] != "2025-11-25" { // the last with a handshake
			t.Errorf("initialize: %v", begun)
		}
		w.ends()
	})
	t.Run("bad requests", func(t *testing.T) {
		w := converse(t, d, key)
		w.send(strings.Replace(initialize("1", "2024-11-05"), `"id":1,`, "", 1)) // a notification: no answer
		w.fails("1", `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, -32600, -32602)
		w.fails("1", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":null}`, -32600)
		w.ok("2", initialize("2", "2025-11-25"))
		w.fails("3", `{"jsonrpc":"2.0","id":3,"method":"notifications/initialized"}`, -32600)
		w.send(initialized)
		w.send(`{"jsonrpc":"2.0","method":"ping"}`)
		w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`)
		w.send(`{"jsonrpc":"2.0","id":77,"result":{}}`) // an answer to no question
		for _, method := range []string{"logging/setLevel", "completion/complete", "tools/call"} {
			w.fails("4", `{"jsonrpc":"2.0","id":4,"method":"`+method+`"}`, -32600, -32601, -32602)
			w.fails("5", `{"jsonrpc":"2.0","id":5,"method":"`+method+`","params":null}`, -32600)
		}
		w.fails("6", `{"jsonrpc":"2.0","id":6,"method":""}`, -32601, -32600)
		w.fails("7", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[1]}`, -32600)

		// Lines that are no messages: each is answered, and the session goes on.
		w.fails("null", `{"jsonrpc":"2.0","id":8,`, -32700)
		w.fails("null", `hello`, -32700)
		w.fails("null", `[]`, -32600)
		w.fails("null", `[{"jsonrpc":"2.0","id":9,"method":"ping"}]`, -32600) // batches ended with 2025-06-18
		w.fails("null", `42`, -32600)
		w.fails("null", `null`, -32600)
		w.fails("null", `{}`, -32600)
		w.fails("9", `{"jsonrpc":"1.0","id":9,"method":"ping"}`, -32600)
		w.fails("null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, -32600)
		w.fails("null", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600)
		w.fails("null", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, -32600)
		w.fails("10", `{"jsonrpc":"2.0","id":10,"method":7}`, -32600)
		w.fails("11", `{"jsonrpc":"2.0","id":11,"method":"ping","result":{}}`, -32600)
		w.fails("12", `{"jsonrpc":"2.0","id":12,"error":"no"}`, -32600)
		w.fails("null", `{"jsonrpc":"2.0","id":13,"method":"ping","params":{"x":"`+strings.Repeat("x", 2<<20)+`"}}`, -32600)
		w.send("")
		w.ok(`"still"`, `{"jsonrpc":"2.0","id":"still","method":"ping"}`+"\r")

		// What a tool does not take is told to the assistant, as a result.
		for arguments, want := range map[string]string{
			`{"name":"report","arguments":{}}`:                                         "the argument name is missing",
			`{"name":"report","arguments":{"name":"secrets"}}`:                         "the argument name must be one of: sales, ",
			`{"name":"report","arguments":{"name":"sales","evil-text":1}}`:             "there is an argument that this tool does not take",
			`{"name":"report","arguments":{"name":"sales","start_date":"2026-02-30"}}`: "the argument start_date must be a day",
			`{"name":"report","arguments":{"name":"sales","limit":101}}`:               "the argument limit must be a whole number from 1 to 100",
			`{"name":"report","arguments":{"name":"sales","start_date":"2020-01-01"}}`: "refused these arguments: end_date (out_of_range)",
			`{"name":"report","arguments":{"name":"costs","model":"linear"}}`:          "refused these arguments: model (invalid_value)",
			`{"name":"explain_order","arguments":{"order_id":"evil-text"}}`:            "the store has no such thing",
			`{"name":"explain_order","arguments":{"order_id":"../../key"}}`:            "the store has no such thing",
			`{"name":"explain_order","arguments":{"order_id":".."}}`:                   "the store has no such thing",
			`{"name":"statement","arguments":{"statement_id":"evil-text"}}`:            "the argument statement_id must be a UUID",
			`{"name":"find_orders","arguments":{"cursor":"evil-text"}}`:                "refused these arguments: cursor (invalid_value)",
			`{"name":"find_orders","arguments":{"text":"x","coupon":"y"}}`:             "refused these arguments: text (invalid_value)",
			`{"name":"ledger","arguments":["evil-text"]}`:                              "the arguments must be a JSON object",
		} {
			got := w.ok("20", `{"jsonrpc":"2.0","id":20,"method":"tools/call","params":`+arguments+`}`)
			text := fmt.Sprint(got["content"])
			if got["isError"] != true || !strings.Contains(text, want) || strings.Contains(text, "evil-text") {
				t.Errorf("%s: %v, want %s", arguments, got, want)
			}
		}
		w.ends()
	})
}

func toolNames(t *testing.T, listed map[string]any) (names []string) {
	t.Helper()
	list, _ := listed["tools"].([]any)
	for _, entry := range list {
		tool, _ := entry.(map[string]any)
		hints, _ := tool["annotations"].(map[string]any)
		if hints["readOnlyHint"] != true || hints["openWorldHint"] != false || tool["inputSchema"] == nil || tool["outputSchema"] == nil {
			t.Errorf("%v", tool)
		}
		names = append(names, fmt.Sprint(tool["name"]))
	}
	return names
}
