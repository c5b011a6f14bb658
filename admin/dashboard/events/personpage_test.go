package events

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/net/html"

	"github.com/tributary-io/tributary/admin/dashboard/site"
)

const personJSON = `{"company_id":"c_1","made_at":"2026-11-20T15:00:00Z","named_by":["email"],"held_back":"ids","orders":[
{"order":{"orderId":"1001","orderStatus":2,"createdAt":"2026-11-19T12:00:00Z","currency":"JPY","totalMinor":1500,"discountCodes":
[{"code":"ANA10","amountMinor":-150}],"isFirstOrder":true,"refunds":null},"personal":{"customer":{"name":"<script>alert(1)</script>",
"birthdate":"1990-02-28","email":"maria@example.com"}},"state":"reversed"}],"earlier_versions":[],
"events":[{"event":"PAGE_VIEW","visitor":1,"payload":{"tamanho":"M","nested":[{"x":12.5}],"<b>":"\u202Eabc"},"consent":"denied"}],
"complete":false}
`

func pageOf(t *testing.T, tag, text string) (page string, err error) {
	t.Helper()
	texts, err := site.LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err = writePersonPage(iotest.OneByteReader(strings.NewReader(text)), &out, texts.Of(tag), zone, "Loja & Cia")
	return strings.ReplaceAll(out.String(), "\u00a0", " "), err
}

// The page has what the JSON has, in words, times of the store and amounts of the order's currency. Nothing of it is markup.
func TestAPersonReadsTheirData(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string][]string{
		"en": {"<h1>Personal data stored by Loja &amp; Cia</h1>", "Made: 20 Nov 2026, 12:00:00", "<dt>Created</dt><dd>19 Nov 2026, 09:00:00</dd>",
			"<dt>Total</dt><dd>¥ 1,500</dd>", "<dt>Amount</dt><dd>−¥ 150</dd>", "<dt>State</dt><dd>cancelled</dd>", "<dd>taken back</dd>",
			"<dt>First order</dt><dd>yes</dd>", "<dt>Refunds</dt><dd>–</dd>", "<dt>Date of birth</dt><dd>28 Feb 1990</dd>",
			"<dd>page viewed</dd>", "<dd>12.5</dd>", "There is more than this file has room for"},
		"pt-BR": {"<h1>Dados pessoais guardados por Loja &amp; Cia</h1>", "<dt>Criado em</dt><dd>19/11/2026, 09:00:00</dd>",
			"<dt>Total</dt><dd>¥ 1.500</dd>", "<dt>Estado</dt><dd>cancelado</dd>", "<dd>estornada</dd>", "<dt>Primeiro pedido</dt><dd>sim</dd>",
			"<dd>página vista</dd>", "<dd>12,5</dd>", "<dd>recusado</dd>", "Há mais do que cabe"},
	} {
		page, err := pageOf(t, tag, personJSON)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range append(want, "&lt;script&gt;alert(1)&lt;/script&gt;", "<dt>tamanho</dt><dd>M</dd>",
			"<dt>&lt;b&gt;</dt><dd>\\u202eabc</dd>", "maria@example.com") {
			if !strings.Contains(page, part) {
				t.Errorf("%s: %q is not in %s", tag, part, page)
			}
		}
		// Every element that is opened is closed.
		open, tokens := map[string]int{}, html.NewTokenizer(strings.NewReader(page))
		for kind := tokens.Next(); kind != html.ErrorToken; kind = tokens.Next() {
			name, _ := tokens.TagName()
			switch kind {
			case html.StartTagToken:
				open[string(name)]++
			case html.EndTagToken:
				open[string(name)]--
			}
		}
		delete(open, "meta")
		for name, n := range open {
			if n != 0 || name == "script" {
				t.Errorf("%s: %d elements %s are open", tag, n, name)
			}
		}
	}
}

// What ends early, or is not the file, is an error.
func TestAPersonsPageIsWholeOrAnError(t *testing.T) {
	t.Parallel()
	for at := 0; at < len(personJSON)-2; at += 7 {
		if _, err := pageOf(t, "en", personJSON[:at]); err == nil {
			t.Errorf("%q is a whole file", personJSON[:at])
		}
	}
	for _, bad := range []string{"[]", "null", `{"events":[` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "]}"} {
		if _, err := pageOf(t, "en", bad); !errors.Is(err, errPersonFile) {
			t.Errorf("%.20s: %v", bad, err)
		}
	}
	texts, err := site.LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the database is away")
	if err := writePersonPage(io.MultiReader(strings.NewReader(personJSON[:100]), iotest.ErrReader(broken)), io.Discard, texts.Of("en"),
		time.UTC, "x"); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}
