package site

import (
	"testing"
	"time"
)

// What a Brazilian spreadsheet would read otherwise than it is meant is written so that it cannot.
func TestCellsOfAPortugueseFile(t *testing.T) {
	t.Parallel()
	languages, err := LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	l := languages.Of(portuguese)
	zone := time.FixedZone("BRT", -3*3600)
	f := func(column, text, want string) {
		t.Helper()
		if got := localCell(l, zone, column, text); got != want {
			t.Errorf("%s %q: %q, want %q", column, text, got, want)
		}
	}
	f("amount", "-1234.50", "-1234,50")
	f("document", "01234567890", "012.345.678-90")
	f("document", "…7890", "…7890")
	f("store_document", "11222333000181", "11.222.333/0001-81")
	f("pix_key", "+5513989622378", "+55 13 98962-2378")
	f("pix_key", "+551332123456", "+55 13 3212-3456")
	f("phone", "+351912345678", "+35 1912345678")
	f("pix_key", "ana@example.com", "ana@example.com")
	f("pix_key", "123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-42d3-a456-426614174000")
	f("pix_type", "cpf", "CPF")
	f("role", "owner", "proprietário")
	f("reason", "self_purchase", "o cliente é o próprio influenciador")
	f("outcome", "stored", "guardado")
	f("action", "influencer.create", "Influenciador cadastrado")
	f("detail", "{}", "")
	f("paid_at", "2026-11-25T03:00:00Z", "25/11/2026")
	f("created_at", "2026-11-25T03:00:00Z", "25/11/2026 00:00")
}
