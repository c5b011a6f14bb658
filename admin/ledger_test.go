package admin_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTheLedgerIsReadEntryByEntry(t *testing.T) {
	t.Parallel()
	s, fix, ana, beto := closing(t)
	company := fix.Store.Live.CompanyID
	anas := s.ask(map[string]string{"end_date": yesterday(), "influencer_id": ana})
	fix.Close(company)
	for _, ref := range anas {
		if ref.Currency == "BRL" {
			s.want(s.post("/statements/"+ref.ID+"/payment", map[string]string{"paid_at": "2026-05-05T12:00:00Z", "reference": "1"}), 200, "")
		}
	}
	type entry struct {
		EntryID     string `json:"entry_id"`
		Amount      float64
		Currency    string
		State       string
		StatementID *string `json:"statement_id"`
	}
	f := func(query string, want ...string) {
		t.Helper()
		var got []string
		for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
			var list []entry
			a := s.get("/ledger?limit=2"+query+cursor, &list)
			for _, e := range list {
				got = append(got, fmt.Sprint(e.EntryID, " ", e.Amount, " ", e.Currency, " ", e.State, " ", e.StatementID != nil))
			}
			cursor = ""
			if a.Pagination.HasMore {
				cursor = "&cursor=" + *a.Pagination.NextCursor
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s\n  %s\nwant\n  %s", query, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
		}
	}
	paid := []string{"a1/1 10 BRL paid true", "a2/1 10.01 BRL paid true", "a3/1 10.02 BRL paid true"}
	all := append(slices.Clone(paid), "b1/1 70 BRL payable false", "held/1 3 BRL held false", "usd/1 5 USD payable true",
		"usd/2 2.5 BRL paid true")
	f("", all...)
	f("&state=paid", append(paid, "usd/2 2.5 BRL paid true")...)
	f("&state=payable", "b1/1 70 BRL payable false", "usd/1 5 USD payable true")
	f("&state=held", "held/1 3 BRL held false")
	f("&influencer_id="+beto, "b1/1 70 BRL payable false", "held/1 3 BRL held false")
	f("&influencer_id="+beto+"&state=held", "held/1 3 BRL held false")
	today := time.Now().In(saoPaulo(t))
	f("&start_date="+today.AddDate(0, 0, -1).Format(time.DateOnly)+"&end_date="+today.AddDate(0, 0, 1).Format(time.DateOnly), all...)
	f("&end_date=" + today.AddDate(0, 0, -2).Format(time.DateOnly))
	f("&start_date=" + today.AddDate(0, 0, 2).Format(time.DateOnly))
}

func saoPaulo(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestPayoutsLedgerAndStatementsAsTables(t *testing.T) {
	t.Parallel()
	s, fix, ana, _ := closing(t)
	asked := s.ask(map[string]string{"end_date": yesterday()})
	fix.Close(fix.Store.Live.CompanyID)
	f := func(path string, lines int, want string) {
		t.Helper()
		text, _ := s.table(path + "?format=csv")
		if n := strings.Count(text, "\r\n"); n != lines || !strings.Contains(strings.ReplaceAll(text, ",", " "), want) {
			t.Errorf("%s: %d lines\n%s\nwant %d with %q", path, n, text, lines, want)
		}
	}
	f("/payouts", 4, "'=Beto Lima BRL 0.00 0.00 3.00 70.00 0.00")
	f("/ledger", 8, "usd/2 usd "+ana+" Ana Prado")
	f("/statements", 4, "closed 0.00 1 70.00 false 0.00")
	for _, ref := range asked {
		if ref.Currency == "USD" {
			f("/statements/"+ref.ID, 2, "5.00 USD")
		}
	}
}
