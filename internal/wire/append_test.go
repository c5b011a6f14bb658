package wire

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// fill sets every field at random, through reflection: a field that the
// appenders forget is a difference from encoding/json.
func fill(random *rand.Rand, v reflect.Value) {
	texts := []string{"", "1001", "Ana Souza", "São Paulo", `"quoted" \ <b>&amp;</b>`, "tab\tline\r\n\x00\x1f\x7f", "\u2028\u2029 €😀",
		"not UTF-8: \xff\xc3", "a,b{c}[d]:"}
	if v.Type() == reflect.TypeFor[time.Time]() {
		at := time.Unix(random.Int64N(7e9), random.Int64N(1e9)).UTC()
		if random.IntN(2) == 0 {
			at = at.Truncate(time.Second)
		}
		v.Set(reflect.ValueOf(at.In([]*time.Location{time.UTC, time.FixedZone("", -3*3600)}[random.IntN(2)])))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(texts[random.IntN(len(texts))])
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(random.Uint64()) >> random.IntN(64))
	case reflect.Bool:
		v.SetBool(random.IntN(2) == 0)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			raw := []json.RawMessage{nil, json.RawMessage(`{"a":[1,"\u003c"]}`)}
			v.Set(reflect.ValueOf(raw[random.IntN(len(raw))]))
			return
		}
		if n := random.IntN(4); n > 0 { // else nil
			v.Set(reflect.MakeSlice(v.Type(), n-1, n-1))
		}
		for i := range v.Len() {
			fill(random, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(random, v.Field(i))
		}
	default:
		panic("append_test: fill knows no " + v.Type().String())
	}
}

func TestAppendJSONWritesWhatEncodingJSONWrites(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	f := func(value any, appended []byte, err error) {
		t.Helper()
		want, wantErr := json.Marshal(value)
		if err != nil || wantErr != nil {
			t.Fatalf("%+v: %v, encoding/json %v", value, err, wantErr)
		}
		if got := string(appended); got != "before"+string(want) {
			t.Fatalf("\n got %s\nwant before%s", got, want)
		}
	}
	for range 5000 {
		var personal Personal
		fill(random, reflect.ValueOf(&personal).Elem())
		out, err := personal.AppendJSON([]byte("before"))
		f(&personal, out, err)

		var order Order
		fill(random, reflect.ValueOf(&order).Elem())
		order.Personal = bytes.TrimPrefix(out, []byte("before"))
		if random.IntN(4) == 0 {
			order.Personal = nil
		}
		out, err = order.AppendJSON([]byte("before"))
		f(&order, out, err)

		var record Commerce
		fill(random, reflect.ValueOf(&record).Elem())
		record.Body = bytes.TrimPrefix(out, []byte("before"))
		if random.IntN(4) == 0 {
			record.Body = nil
		}
		out, err = record.AppendJSON([]byte("before"))
		f(&record, out, err)
	}
	f(&Order{}, must(t, new(Order)), nil)
	f(&Commerce{}, must(t, new(Commerce)), nil)
	f(&Personal{}, must(t, new(Personal)), nil)
}

func must(t *testing.T, value interface{ AppendJSON([]byte) ([]byte, error) }) []byte {
	t.Helper()
	out, err := value.AppendJSON([]byte("before"))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAppendJSONRefusesATimeThatJSONCannotHold(t *testing.T) {
	late := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, value := range []interface{ AppendJSON([]byte) ([]byte, error) }{
		&Commerce{AcceptedAt: late}, &Order{CreatedAt: late}, &Order{UpdatedAt: Some(late)},
		&Personal{Customer: Some(Customer{CreatedAt: Some(late)})},
	} {
		if out, err := value.AppendJSON(nil); err == nil {
			t.Errorf("%s", out)
		}
	}
}

// Beyond ASCII and in every byte: what is copied and what is escaped meet here.
func TestTextsOfEveryByteAreEscapedAsEncodingJSONDoes(t *testing.T) {
	for b := range 256 {
		text := "a" + string([]byte{byte(b)}) + "z"
		want, _ := json.Marshal(text)
		if got := appendText(nil, text); !bytes.Equal(got, want) {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}
