package facts

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

const parsed = `{"companyId":"c","eventId":"01a20146-4a01-7000-8000-000000000005","event":"PAGE_VIEW",` +
	`"timestamp":"2026-11-22T03:21:53.409Z",` +
	`"payload":{"items":[{"productId":"1","price":12.50}],"total":-1e2},"identity":{"emailKey":"k1:e","phoneKey":"k1:p",` +
	`"customerKey":"k1:c","cartKey":"k1:t","cartNoKey":"k1:n","verified":true},` +
	`"context":{"page":{"url":"https://loja.example.com/?a=1&b=2","path":"/","referrer":"https://www.google.com/","title":"Vestido – ` +
	`\"Loja\" \\ \u0026"},` +
	`"campaign":{"source":"s","medium":"m","name":"n","content":"c","term":"t"},"clickIds":{"gclid":"g","fbclid":"f"},` +
	`"networkIds":{"ga":"1.2","fbp":"fb.1.1738782878094.8"},` +
	`"library":{"name":"sdk-js","version":"1.0.0"},"locale":"pt-BR","screen":"390x844","userAgent":"Mozilla/5.0"},` +
	`"visitorId":"v","sessionId":"s","stream":"t","seq":6,"receivedAt":"2026-11-22T03:21:53Z","clockSkewMs":-150,"ip":"203.0.113.0",` +
	`"netKey":"k1:net","frame":true,"cookieId":"k",` +
	`"bot":"none","consent":"granted","consentFor":"ga4,meta","via":"sdk-js","trust":"open","keyId":"key",` +
	`"former":{"emailKey":"k1:e","phoneKey":"k1:p","customerKey":"k1:c","cartKey":"k1:t","cartNoKey":"k1:n","netKey":"k1:net",` +
	`"userKey":"k1:u","stream":"k1:s"},"click":{"id":"i","code":"c","verified":true,"linkId":"l","destination":"https://d"}}`

// sameAsJSON fails where parseRecord and encoding/json read a record differently.
func sameAsJSON(t *testing.T, record string) {
	t.Helper()
	got, gotErr := parseRecord([]byte(record))
	var want wire.Event
	wantErr := json.Unmarshal([]byte(record), &want)
	if !reflect.DeepEqual(got, want) || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
		t.Fatalf("%s\nparseRecord:   %+v, %v\nencoding/json: %+v, %v", record, got, gotErr, want, wantErr)
	}
}

func TestARecordIsParsedWithoutReflection(t *testing.T) {
	t.Parallel()
	var want wire.Event
	if err := json.Unmarshal([]byte(parsed), &want); err != nil {
		t.Fatal(err)
	}
	p := eventParser{Scanner: core.Scan(parsed, 0)}
	var got wire.Event
	if p.event(&got); p.odd || !p.Done() || !reflect.DeepEqual(got, want) {
		t.Errorf("odd: %t, %+v, want %+v", p.odd, got, want)
	}
	if v := reflect.ValueOf(want); v.NumField() != 25 { // a new field needs a new case
		t.Errorf("an event has %d fields", v.NumField())
	}
	for i := range reflect.TypeFor[wire.Event]().NumField() {
		if reflect.ValueOf(want).Field(i).IsZero() {
			t.Errorf("%s is in no test", reflect.TypeFor[wire.Event]().Field(i).Name)
		}
	}
}

func TestRecordsAreParsedAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	f := func(old, new string) {
		t.Helper()
		if !strings.Contains(parsed, old) {
			t.Fatalf("no %s", old)
		}
		sameAsJSON(t, strings.Replace(parsed, old, new, 1))
	}
	f("", "")
	f("", " \n\t")
	f(`}}`, `}} `)
	f(`}}`, `}}x`)
	f(`}}`, `}`)
	f(`"event":"PAGE_VIEW"`, `"event":null`)
	f(`"event":"PAGE_VIEW"`, `"event":1`)
	f(`"event":"PAGE_VIEW"`, `"EVENT":"PAGE_VIEW"`)
	f(`"event":"PAGE_VIEW"`, `"event":"a","event":"b"`)
	f(`"event":"PAGE_VIEW"`, `"new":{"a":[1]}`)
	f(`PAGE_VIEW`, `a\u0000b`)
	f(`PAGE_VIEW`, `\ud83d\ude00`)
	f(`PAGE_VIEW`, `\ud83d`)
	f(`PAGE_VIEW`, "\xff\xfe")
	f(`PAGE_VIEW`, `\\u0000 \u00e9 \/ \b`)
	f(`PAGE_VIEW`, "a\nb")
	f(`PAGE_VIEW`, `\x`)
	f(`53.409Z`, `53.4Z`)
	f(`53.409Z`, `53.4090Z`)
	f(`53.409Z`, `53.409123456Z`)
	f(`53.409Z`, `53.Z`)
	f(`53.409Z`, `60.000Z`)
	f(`53.409Z`, `53.409z`)
	f(`53.409Z`, `53,409Z`)
	f(`53.409Z`, `53.409+03:00`)
	f(`2026-11-22T`, `2026-11-22t`)
	f(`2026-11-22T`, `2026-11-31T`)
	f(`2026-11-22T`, `0000-01-01T`)
	f(`"seq":6`, `"seq":6.0`)
	f(`"seq":6`, `"seq":1e2`)
	f(`"seq":6`, `"seq":-0`)
	f(`"seq":6`, `"seq":06`)
	f(`"seq":6`, `"seq":9223372036854775808`)
	f(`"seq":6`, `"seq":"6"`)
	f(`"frame":true`, `"frame":false`)
	f(`"frame":true`, `"frame":"true"`)
	f(`"verified":true`, `"verified":null`)
	f(`"payload":{`, `"payload": { `)
	f(`"payload":{`, `"payload":null,"x":{`)
	f(`"payload":{`, `"payload":{"a":1},"payload":{`)
	f(`"payload":{`, `"payload":{"a":1},"payload": {"a":1},"x":{`)
	f(`"clickIds":{`, `"clickIds":{"a":"b"},"clickIds":{`)
	f(`"clickIds":{`, `"clickIds":null,"x":{`)
	f(`"click":{`, `"click":null,"x":{`)
	f(`"click":{`, `"click":{"id":"j","code":"d"},"click":{`)
	f(`"context":{`, `"context":[],"x":{`)
	f(`"former":{`, `"former":null,"x":{`)
	f(`"former":{`, `"former":{"userKey":"v"},"former":{`)
	f(`"former":{`, `"former":{"new":1,`)
	f(`"page":{`, `"page":{},"page":{`)
	sameAsJSON(t, ``)
	sameAsJSON(t, `null`)
	sameAsJSON(t, `[]`)
	sameAsJSON(t, `{}`)
	sameAsJSON(t, `{"payload":`+strings.Repeat("[", 200)+strings.Repeat("]", 200)+`}`)
}

// Members in any order, absent, doubled, and values of one in the place of another's.
func TestRandomRecordsAreParsedAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(parsed), &members); err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	r := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		var list []string
		for range r.IntN(2 * len(names)) {
			name := names[r.IntN(len(names))]
			value := string(members[name])
			switch r.IntN(30) {
			case 0:
				value = string(members[names[r.IntN(len(names))]])
			case 1:
				at := r.IntN(len(value))
				value = value[:at] + string(rune(r.IntN(300))) + value[at:]
			case 2:
				value = "null"
			}
			list = append(list, fmt.Sprintf("%q:%s", name, value))
		}
		sameAsJSON(t, "{"+strings.Join(list, ",")+"}")
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add(parsed)
	f.Fuzz(func(t *testing.T, record string) { sameAsJSON(t, record) })
}

func BenchmarkParseRecord(b *testing.B) {
	raw := []byte(parsed)
	for b.Loop() {
		if _, err := parseRecord(raw); err != nil {
			b.Fatal(err)
		}
	}
}
