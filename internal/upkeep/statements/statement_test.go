package statements

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

func TestRecordsOfStatementsAndPayments(t *testing.T) {
	const id, influencer = "019cd7a4-2e00-7000-8000-000000000001", "019cd7a4-2e00-7000-8000-000000000002"
	f := func(parse func(c wire.Commerce) error, want error, body string) {
		t.Helper()
		if err := parse(wire.Commerce{Rev: 7, AcceptedAt: noon, Actor: "cli", Body: json.RawMessage(body)}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", body, err, want)
		}
	}
	statement := func(c wire.Commerce) error {
		s, err := Parse(c)
		if want := (Statement{StatementID: id, InfluencerID: influencer, Currency: "BRL", EndDate: "2026-04-30", MinimumMinor: 5, Rev: 7,
			AskedAt: noon, Actor: "cli"}); err == nil && !reflect.DeepEqual(s, want) {
			t.Errorf("%+v, want %+v", s, want)
		}
		return err
	}
	f(statement, nil, `{"statementId":"`+id+`","influencerId":"`+influencer+`","currency":"BRL","endDate":"2026-04-30","minimumMinor":5}`)
	f(statement, facts.ErrNotJSON, `{`)
	f(statement, facts.ErrNoID, `{"statementId":"x","influencerId":"`+influencer+`","currency":"BRL","endDate":"2026-04-30"}`)
	f(statement, facts.ErrNoID, `{"statementId":"`+id+`","currency":"BRL","endDate":"2026-04-30"}`)
	f(statement, facts.ErrCurrency, `{"statementId":"`+id+`","influencerId":"`+influencer+`","currency":"XYZ","endDate":"2026-04-30"}`)
	f(statement, facts.ErrTime, `{"statementId":"`+id+`","influencerId":"`+influencer+`","currency":"BRL","endDate":"2026-02-30"}`)
	payment := func(c wire.Commerce) error {
		p, err := ParsePayment(c)
		if want := (Payment{StatementID: id, PaidAt: noon, Reference: "PIX", Rev: 7, RecordedAt: noon, Actor: "cli"}); err == nil && p != want {
			t.Errorf("%+v, want %+v", p, want)
		}
		return err
	}
	at, err := json.Marshal(noon)
	if err != nil {
		t.Fatal(err)
	}
	f(payment, nil, `{"statementId":"`+id+`","paidAt":`+string(at)+`,"reference":"PIX"}`)
	f(payment, facts.ErrNotJSON, `[]`)
	f(payment, facts.ErrNoID, `{"paidAt":`+string(at)+`,"reference":"PIX"}`)
	f(payment, facts.ErrTime, `{"statementId":"`+id+`","reference":"PIX"}`)
	withholding := func(c wire.Commerce) error {
		w, err := ParseWithholding(c)
		if err == nil && (w.StatementID != id || len(w.List) != 1 || w.Invoice != "7" || w.Rev != 7 || !w.At.Equal(noon) || w.Actor != "cli") {
			t.Errorf("%+v", w)
		}
		return err
	}
	f(withholding, nil, `{"statementId":"`+id+`","withheld":[{"name":"ISS","amountMinor":5}],"invoice":"7"}`)
	f(withholding, facts.ErrNotJSON, `[]`)
	f(withholding, facts.ErrNoID, `{"withheld":[]}`)
	f(withholding, facts.ErrData, `{"statementId":"`+id+`","withheld":[{"name":"ISS","amountMinor":-5}]}`)
}
