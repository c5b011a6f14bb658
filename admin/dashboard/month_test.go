package dashboard_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// What is said where money is shown: the card "to pay" is what the statements say, whatever others have to give
// back; the list is narrowed by name and state, and its file with it.
func TestAMonthIsSeenBeforeItIsPaid(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.setClock(mayDay)
	s.fillStatements(mayDay)
	owner := s.loggedIn()
	at := func(page, more string) string { return "/dashboard/" + page + "?company=" + s.live + more }
	has := func(path string, present bool, texts ...string) {
		t.Helper()
		page := strings.ReplaceAll(s.readAs(owner, path), "\u00a0", " ")
		for _, text := range texts {
			if contains(page, text) != present {
				t.Errorf("%s: %q is there: %t, want %t", path, text, !present, present)
			}
		}
	}
	has(at("payouts", ""), true, "To pay R$ 12,346.56 in closed statements", "Not yet closed R$ 7.00",
		"Carried to the next R$ 0.00", "To be deducted −R$ 45.00")
	has(at("statements", ""), true, "4 statements · To pay: 1, R$ 12,346.56 · Carried to the next: 1 · Paid: 1, R$ 150.50 · Closing: 1")
	has(at("statements", "&q=EDU"), true, "1 statement · Paid: 1, R$ 150.50", "Eduarda Farias")
	has(at("statements", "&q=EDU"), false, "Fernanda", "Gabriel")
	has(at("statements", "&state=due"), true, "Fernanda")
	has(at("statements", "&state=due"), false, "Eduarda", "Gabriel", "Helena")
	has(at("statements", "&state=carried"), true, "Gabriel")
	has(at("statements", "&state=carried&q=ana"), true, "No statement like this.")
	if status, _ := s.download(owner, at("statements.csv", "&state=other")); status != http.StatusBadRequest {
		t.Errorf("an unknown state: %d", status)
	}
	if _, rows := s.download(owner, at("statements.csv", "&state=due")); len(rows) != 1 ||
		!strings.HasPrefix(rows[0]["influencer"], "Fernanda") || rows[0]["number"] != "2" {
		t.Errorf("the file has not what the page shows: %v", rows)
	}
	answer, err := owner.Get(s.url + at("payouts", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || !contains(string(body), `value="2026-04-30"`) {
		t.Errorf("the last day of the month before is not proposed: %v", err)
	}
	nothing := url.Values{"end_date": {"2020-01-01"}}
	if status, page, _ := s.send(owner, at("statements", ""), nothing); status != http.StatusUnprocessableEntity ||
		!contains(page, "there is nothing to close up to this day") {
		t.Errorf("nothing to close: %d", status)
	}
}
