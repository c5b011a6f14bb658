package dashboard_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// What would be closed is shown first, and is what is closed then; who is left out stays for a later one.
func TestAClosingIsShownFirstAndLeavesOut(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.setClock(mayDay)
	if _, _, err := s.DB.ChangeSettings(t.Context(), commerce.SettingsChange{CompanyID: s.live, Actor: "test",
		Change: func(s *commerce.Settings) { s.MinimumPayout = "5" }}); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for i, minor := range []int64{123450, 499, -700, 250000} {
		ids = append(ids, s.Influencer(s.live, []string{"zoe", "Érica", "Bia", "ana"}[i]))
		s.Put(reporttest.Order{CompanyID: s.live, ID: fmt.Sprint("o", i), CreatedAt: mayDay.AddDate(0, 0, -40), TotalMinor: 20000,
			InfluencerID: ids[i], Evidence: "coupon", CommissionMinor: minor})
	}
	owner, at := s.loggedIn(), "?company="+s.live
	status, page, _ := s.send(owner, "/dashboard/statements/closing"+at, url.Values{"end_date": {"2026-04-30"}})
	page = strings.ReplaceAll(page, "\u00a0", " ")
	if status != http.StatusOK || !contains(page, "Close until 30 Apr 2026", "<dd>4</dd>", "To pay (2)", "R$ 3,734.50", "R$ 4.99", "−R$ 7.00",
		"To be deducted", "Carried to the next") {
		t.Errorf("%d: %s", status, page)
	}
	last := 0
	for _, name := range []string{"> ana<", "> Bia<", "> Érica<", "> zoe<"} { // by name
		if at := strings.Index(page, name); at < last {
			t.Errorf("%q stands at %d, behind %d", name, at, last)
		} else {
			last = at
		}
	}
	if list, err := s.DB.Statements(t.Context(), s.live, commerce.StatementFilter{}, commerce.StatementCursor{}, 10); err != nil ||
		len(list) != 0 {
		t.Errorf("the page that asks has closed %v, %v", list, err)
	}
	if status, _, _ := s.send(owner, "/dashboard/statements"+at, url.Values{"end_date": {"2026-04-30"}, "choose": {"yes"},
		"influencer": ids[:3]}); status != http.StatusSeeOther {
		t.Errorf("closed: %d", status)
	}
	s.Close(s.live)
	list, err := s.DB.Statements(t.Context(), s.live, commerce.StatementFilter{}, commerce.StatementCursor{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, st := range list {
		got[st.InfluencerID] = fmt.Sprint(st.TotalMinor, " ", st.Carried)
	}
	if want := map[string]string{ids[0]: "123450 false", ids[1]: "499 true", ids[2]: "-700 true"}; !maps.Equal(got, want) {
		t.Errorf("closed %v, want %v", got, want)
	}
	left, err := s.DB.PreviewStatements(t.Context(), commerce.Author{CompanyID: s.live, At: mayDay}, commerce.Closing{EndDate: "2026-04-30"})
	if err != nil || len(left) != 1 || left[0].InfluencerID != ids[3] {
		t.Errorf("left are %+v, %v", left, err)
	}
}

// Each statement that is to be paid has a code, or says why not. A key that changed just now is paid by none; the first key of who was
// never paid is no change.
func TestPixCodesOfWhatIsToBePaid(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.setClock(mayDay)
	at := "?company=" + s.live
	author := commerce.Author{CompanyID: s.live, Actor: "test", At: mayDay}
	ids := map[string]string{}
	for i, name := range []string{"Júlia Prado", "Nova Chave", "Sem Chave", "Dólar Lima"} {
		currency := "BRL"
		if i == 3 {
			currency = "USD"
		}
		influencer := s.Influencer(s.live, name)
		keys := map[int][]string{0: {"k0@example.com"}, 1: {"k@example.com", "k1@example.com"}, 3: {"k3@example.com"}}[i]
		for _, key := range keys {
			if err := s.DB.UpdateInfluencer(t.Context(), author, name, commerce.InfluencerChange{Details: commerce.DetailsChange{
				Document: wire.Some("52998224725"), Pix: wire.Some(commerce.Pix{Type: commerce.PixEmail, Key: key}),
			}}); err != nil {
				t.Fatal(err)
			}
		}
		s.Put(reporttest.Order{CompanyID: s.live, ID: fmt.Sprint("o", i), CreatedAt: mayDay.AddDate(0, 0, -40), TotalMinor: 20000,
			InfluencerID: influencer, Evidence: "coupon", CommissionMinor: 123450, Currency: currency})
		ids[name] = s.Ask(s.live, influencer, currency, "2026-04-30", 0)
	}
	s.exec(`update influencer_personal set pix_at = $1`, mayDay.Add(-time.Hour))
	s.Close(s.live)
	owner, finance := s.loggedIn(), s.join(account.RoleFinance, "bia@loja.example", s.Store.StoreID)
	page := s.readRaw(owner, "/dashboard/statements/pix"+at)
	if n := strings.Count(page, "br.gov.bcb.pix"); n != 2 || !contains(page, "0114k0@example.com", "54071234.50", "5911Julia Prado", "EXT1",
		"changed within the last 48 hours", "has no Pix key", "Pix is in BRL alone") {
		t.Errorf("%d codes in %s", n, page)
	}
	for name, want := range map[string]int{"Júlia Prado": http.StatusOK, "Nova Chave": http.StatusNotFound, "Sem Chave": http.StatusNotFound,
		"Dólar Lima": http.StatusNotFound} {
		answer, err := owner.Get(s.url + "/dashboard/statements/pix.svg" + at + "&id=" + ids[name])
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("the QR code of %s: %d", name, answer.StatusCode)
		}
	}
	for client, document := range map[*http.Client]string{owner: "52998224725", finance: commerce.MaskedDocument("52998224725")} {
		_, rows := s.download(client, "/dashboard/statements/pix.csv"+at)
		if len(rows) != 4 {
			t.Fatalf("%d rows", len(rows))
		}
		for _, row := range rows {
			paid := row["influencer"] == "Júlia Prado"
			if paid != (row["pix_key"] != "") || paid != (row["reason"] == "") || paid && row["document"] != document {
				t.Errorf("%v", row)
			}
		}
	}
	analyst := s.join(account.RoleAnalyst, "caio@loja.example", s.Store.StoreID)
	if answer, err := analyst.Get(s.url + "/dashboard/statements/pix" + at); err != nil || answer.StatusCode != http.StatusForbidden {
		t.Errorf("an analyst: %v, %v", answer, err)
	}
}

// Of several that are paid together each is recorded or none: one that was changed in another tab stops all. A payment is
// undone with a reason, by owners alone.
func TestStatementsArePaidTogetherAndAPaymentIsUndone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.setClock(mayDay)
	var ids []string
	for i, currency := range []string{"BRL", "BRL", "USD"} {
		influencer := s.Influencer(s.live, fmt.Sprint("Ana ", i))
		s.Put(reporttest.Order{CompanyID: s.live, ID: fmt.Sprint("o", i), CreatedAt: mayDay.AddDate(0, 0, -40), TotalMinor: 20000,
			InfluencerID: influencer, Evidence: "coupon", CommissionMinor: 1000, Currency: currency})
		ids = append(ids, s.Ask(s.live, influencer, currency, "2026-04-30", 0))
	}
	s.Close(s.live)
	owner, at := s.loggedIn(), "?company="+s.live
	versions := func() (list []string) {
		known, err := s.DB.Versions(t.Context(), s.live, ids)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			list = append(list, known[id].String())
		}
		return list
	}
	paid := func() int {
		state, err := s.DB.Statements(t.Context(), s.live, commerce.StatementFilter{State: commerce.StatementPaid}, commerce.StatementCursor{},
			10)
		if err != nil {
			t.Fatal(err)
		}
		return len(state)
	}
	send := func(what string, values url.Values, want int, texts ...string) {
		t.Helper()
		if values.Get("paid_on") == "" {
			values.Set("paid_on", "2026-05-01")
			values.Set("reference", "PIX 1")
		}
		status, text, _ := s.send(owner, "/dashboard/statements/"+what+at, values)
		text = strings.ReplaceAll(text, "\u00a0", " ")
		for _, part := range texts {
			if !contains(text, part) {
				t.Errorf("%s: %q is not in %q", what, part, text)
			}
		}
		if status != want {
			t.Errorf("%s: %d, want %d", what, status, want)
		}
	}
	shown := versions()
	send("chosen", url.Values{"do": {"pay"}, "chosen": shown}, http.StatusOK, "Ana 0", "Ana 2", "R$ 20.00 + US$ 10.00", "Record 3 payments",
		shown[0], "1 May 2026, reference: PIX 1")
	send("chosen", url.Values{"all": {"yes"}}, http.StatusOK, "Record 3 payments", shown[2])
	send("chosen", url.Values{"do": {"pay"}}, http.StatusUnprocessableEntity, "Choose at least one")
	send("chosen", url.Values{"do": {"pay"}, "chosen": shown, "paid_on": {"2026-06-01"}}, http.StatusUnprocessableEntity, "not in the future")
	send("chosen", url.Values{"do": {"links"}, "chosen": shown}, http.StatusOK, "Ana 0: http", "Ana 2: http")
	send("chosen", url.Values{"do": {"all_links"}}, http.StatusOK, "Ana 0: http", "Ana 1: http", "Ana 2: http")
	send("pay-chosen", url.Values{"chosen": {"0." + s.Influencer(s.live, "Nobody")}}, http.StatusNotFound)
	if paid() != 0 {
		t.Fatal("a page that asks has recorded payments")
	}
	// Another tab pays one of them and takes that back.
	other := []commerce.StatementPayment{{StatementID: ids[1], PaidAt: mayDay, Reference: "PIX 0"}}
	author := commerce.Author{CompanyID: s.live, Actor: "test", At: mayDay}
	if err := s.DB.PayStatements(t.Context(), author, other); err != nil {
		t.Fatal(err)
	}
	send("pay-chosen", url.Values{"chosen": shown}, http.StatusConflict)
	if err := s.DB.UndoPayment(t.Context(), author, commerce.PaymentUndo{StatementID: ids[1], Reason: "sent back"}); err != nil {
		t.Fatal(err)
	}
	send("pay-chosen", url.Values{"chosen": shown}, http.StatusConflict)
	if paid() != 0 {
		t.Errorf("%d are paid by a form of which one row is stale", paid())
	}
	now := versions()
	send("pay-chosen", url.Values{"chosen": append(now[:3:3], now[0])}, http.StatusSeeOther) // one twice is paid once
	if paid() != 3 {
		t.Errorf("%d are paid", paid())
	}
	send("chosen", url.Values{"do": {"pay"}, "chosen": versions()}, http.StatusConflict, "Nothing was recorded")
	finance := s.join(account.RoleFinance, "bia@loja.example", s.Store.StoreID)
	if status, _, _ := s.send(finance, "/dashboard/statements/undo"+at, url.Values{"statement": {ids[0]}, "reason": {"x"}}); status !=
		http.StatusForbidden {
		t.Errorf("finance undoes: %d", status)
	}
	send("undo", url.Values{"statement": {ids[0]}, "reason": {" "}}, http.StatusUnprocessableEntity, "Give a reason")
	send("undo", url.Values{"statement": {ids[0]}, "reason": {"sent back by the bank"}}, http.StatusSeeOther)
	send("undo", url.Values{"statement": {ids[0]}, "reason": {"again"}}, http.StatusConflict, "has no payment")
	if paid() != 2 {
		t.Errorf("after the undo %d are paid", paid())
	}
	if text := s.readAs(owner, "/dashboard/audit"+at); !contains(text, "Payment undone", "sent back by the bank") {
		t.Errorf("the audit log reads %q", text)
	}
}

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
	for action, want := range map[string]string{"/closing": "nobody is chosen", "": "nobody is chosen"} {
		if status, page, _ := s.send(owner, "/dashboard/statements"+action+"?company="+s.live, url.Values{"end_date": {"2026-04-30"},
			"choose": {"yes"}}); status != http.StatusUnprocessableEntity || !contains(page, want) {
			t.Errorf("nobody chosen: %d", status)
		}
	}
	nothing := url.Values{"end_date": {"2020-01-01"}}
	if status, page, _ := s.send(owner, at("statements", ""), nothing); status != http.StatusUnprocessableEntity ||
		!contains(page, "there is nothing to close up to this day") {
		t.Errorf("nothing to close: %d", status)
	}
}
