package commerce_test

import (
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
)

func inBrazil(raw string) string { return identity.NormalPhone(raw, "BR") }

// The CNPJ with letters is the example of Receita Federal's page on the new numbers; the others are numbers
// with right check digits that are used in manuals.
func TestDocumentsHaveRightCheckDigits(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"529.982.247-25": "52998224725 cpf", " 52998224725 ": "52998224725 cpf",
		"11.222.333/0001-81": "11222333000181 cnpj", "12.ABC.345/01DE-35": "12ABC34501DE35 cnpj", "12abc34501de35": "12ABC34501DE35 cnpj",
		"52998224726": " ", "11111111111": " ", "00000000000000": " ", "12ABC34501DE36": " ", "12ABC34501DEA5": " ", "5299822472": " ",
		"": " ", "529.982.247-2x": " ", "１１２２２３３３０００１８１": " ", strings.Repeat("1", 1000): " ",
	} {
		document, kind := commerce.NormalDocument(raw)
		if got := document + " " + kind; got != want {
			t.Errorf("%q is %q, want %q", raw, got, want)
		}
	}
	if got := commerce.ShownDocument("12ABC34501DE35"); got != "12.ABC.345/01DE-35" {
		t.Error(got)
	}
	if got := commerce.ShownDocument("52998224725"); got != "529.982.247-25" {
		t.Error(got)
	}
}

// Eleven digits that are a right CPF and a right mobile number are what the type says.
func TestAPixKeyIsReadByItsTypeAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, raw, want string }{
		{commerce.PixCPF, "119.876.543-74", "11987654374"},
		{commerce.PixPhone, "11987654374", "+5511987654374"},
		{commerce.PixPhone, "+55 (11) 98765-4308", "+5511987654308"},
		{commerce.PixCNPJ, "12.ABC.345/01DE-35", "12ABC34501DE35"},
		{commerce.PixEmail, "Ana@Example.com", "ana@example.com"},
		{commerce.PixRandom, "123E4567-e89b-42d3-a456-426655440000", "123e4567-e89b-42d3-a456-426655440000"},
		{commerce.PixCPF, "11987654307", ""},
		{commerce.PixCPF, "+5511987654308", ""},
		{commerce.PixCNPJ, "11987654308", ""},
		{commerce.PixPhone, "123", ""},
		{commerce.PixEmail, "ana", ""},
		{commerce.PixEmail, strings.Repeat("a", 66) + "@example.com", ""},
		{commerce.PixEmail, "ana@example.com,beto@example.com", ""},
		{commerce.PixRandom, "ana@example.com", ""},
		{commerce.PixRandom, "", ""},
		{"", "11987654308", ""},
		{"chave", "11987654308", ""},
	} {
		asked := commerce.DetailsChange{Pix: wire.Some(commerce.Pix{Type: c.kind, Key: c.raw})}
		bad := asked.Check(inBrazil)
		if got := asked.Pix.Value.Key; c.want != "" && (got != c.want || bad.Any()) || c.want == "" && !bad.Any() {
			t.Errorf("%s %q: %q, %v, want %q", c.kind, c.raw, got, bad.List, c.want)
		}
		for _, v := range bad.List {
			if c.raw != "" && strings.Contains(v.Message, c.raw) {
				t.Errorf("%s %q: the message has the key: %s", c.kind, c.raw, v.Message)
			}
		}
	}
}

func TestDetailsAreCheckedAndStoredInOneForm(t *testing.T) {
	t.Parallel()
	asked := commerce.DetailsChange{
		Email: wire.Some(" Ana.Prado@Example.COM "), Phone: wire.Some("(11) 98888-7777"), Document: wire.Some("529.982.247-25"),
		Handles: wire.Some([]string{" @ana "}), Notes: wire.Some("fala com a Bia"),
	}
	if bad := asked.Check(inBrazil); bad.Any() {
		t.Fatal(bad.List)
	}
	var d commerce.Details
	asked.Apply(&d)
	if d.Email != "ana.prado@example.com" || d.Phone != "+5511988887777" || d.Document != "52998224725" || d.Handles[0] != "@ana" {
		t.Errorf("%+v", d)
	}
	masked := d.Masked()
	if masked.Email != "a…@example.com" || masked.Phone != "…7777" || masked.Document != "…4725" || masked.Notes != "…" {
		t.Errorf("%+v", masked)
	}
	// An empty text clears, what is absent stays.
	cleared := commerce.DetailsChange{Email: wire.Some(""), Pix: wire.Null[commerce.Pix]()}
	if bad := cleared.Check(inBrazil); bad.Any() {
		t.Fatal(bad.List)
	}
	cleared.Apply(&d)
	if d.Email != "" || d.Phone == "" {
		t.Errorf("%+v", d)
	}
	many := commerce.DetailsChange{
		Email: wire.Some("a@b@c"), Phone: wire.Some("x"), Document: wire.Some("1"), Notes: wire.Some(strings.Repeat("n", commerce.MaxNotes+1)),
		Handles: wire.Some(append(make([]string, commerce.MaxHandles), "@ana")),
	}
	bad := many.Check(inBrazil)
	for _, field := range []string{"details.email", "details.phone", "details.document", "details.notes", "details.handles"} {
		if !bad.Of(field) {
			t.Errorf("%s is not refused: %v", field, bad.List)
		}
	}
}
