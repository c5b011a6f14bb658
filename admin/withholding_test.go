package admin_test

import (
	"fmt"
	"testing"
	"time"
)

// Withholdings are entered until a statement is paid; what is paid is the total without them. Neither more than the total nor
// anything of a statement that is paid or carried can be withheld.
func TestWhatIsWithheldIsNotPaid(t *testing.T) {
	t.Parallel()
	s, fix, ana, _ := closing(t)
	company := fix.Store.Live.CompanyID
	id := s.ask(map[string]string{"end_date": yesterday(), "influencer_id": ana})[0].ID
	path := "/statements/" + id + "/withholdings"
	put := func(body string, status int, code string) {
		t.Helper()
		got := s.call("PUT", "/admin/v1"+path, s.live, body)
		s.want(got, status, code)
	}
	const taxes = `{"withholdings": [{"name": "IRRF", "amount": 2.53}, {"name": "ISS", "amount": 1}], "invoice": "NF 1042"}`
	put(taxes, 409, "statement_closing")
	fix.Close(company)
	for body, code := range map[string]string{
		`{}`: "required", `{"withholdings": [{"name": "IRRF", "amount": -1}]}`: "out_of_range",
		`{"withholdings": [{"name": "IRRF", "amount": 0}]}`:                                   "out_of_range",
		`{"withholdings": [{"name": " ", "amount": 1}]}`:                                      "empty",
		`{"withholdings": [{"name": "ISS", "amount": 1}, {"name": "iss", "amount": 1}]}`:      "conflict",
		`{"withholdings": [{"name": "IRRF", "amount": 1.001}]}`:                               "too_many_digits",
		`{"withholdings": [{"name": "IRRF", "amount": 32.00}, {"name": "ISS", "amount": 1}]}`: "out_of_range",
		`{"withholdings": [{},{},{},{},{},{}]}`:                                               "too_many",
	} {
		got := s.call("PUT", "/admin/v1"+path, s.live, body)
		s.want(got, 400, "validation_error")
		if got.Error.Details[0].Code != code {
			t.Errorf("%s: %+v, want %s", body, got.Error.Details, code)
		}
	}
	put(taxes, 200, "")
	put(taxes, 200, "")
	read := func() string {
		t.Helper()
		var one struct {
			Total, Net   float64
			Invoice      *string
			Withholdings []struct {
				Name   string
				Amount float64
			}
		}
		s.get("/statements/"+id, &one)
		var balances []struct {
			Influencer, Currency    string
			Payable, Paid, Withheld float64
		}
		s.get("/payouts", &balances)
		invoice := ""
		if one.Invoice != nil {
			invoice = *one.Invoice
		}
		return fmt.Sprint(one.Total, " ", one.Withholdings, " ", one.Net, " ", invoice, "; ", balances[1])
	}
	if got, want := read(), "32.53 [{IRRF 2.53} {ISS 1}] 29 NF 1042; {Ana Prado BRL 29 0 3.53}"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	pay := map[string]string{"paid_at": time.Now().UTC().Format(time.RFC3339), "reference": "PIX"}
	s.want(s.post("/statements/"+id+"/payment", pay), 200, "")
	if got, want := read(), "32.53 [{IRRF 2.53} {ISS 1}] 29 NF 1042; {Ana Prado BRL 0 29 3.53}"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	put(`{"withholdings": []}`, 409, "statement_paid")
	s.want(s.call("DELETE", "/admin/v1/statements/"+id+"/payment", s.live, `{"reason": "sent back"}`), 200, "")
	put(`{"withholdings": []}`, 200, "")
	if got, want := read(), "32.53 [] 32.53 ; {Ana Prado BRL 32.53 0 0}"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	s.want(s.call("PUT", "/admin/v1/statements/019cd7a4-2e00-7000-8000-00000000000f/withholdings", s.live, taxes), 404, "not_found")
}
