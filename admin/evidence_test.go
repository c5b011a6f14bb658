package admin_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/devtest"
)

// A decision is a record of commerce.v1 under a revision of the company's rules; one
// that names nothing of the store is none. The last decision counts, even where the
// processor has not applied the one before (here it applies none at all).
func TestEvidenceIsDecided(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.want(s.call("POST", "/admin/v1/influencers", s.live,
		`{"name":"Ana Prado","campaign":"Inverno","links":[{"url":"https://loja.example.com/"}]}`), 200, "")
	ana := s.influencerID()
	const order = `{"orderId":"A 1","orderStatus":0,"createdAt":"2026-11-20T12:00:00Z","totalPrice":10,"currency":"BRL"}`
	s.want(s.call("POST", "/admin/v1/order", s.live, order), 200, "")

	decide := func(path, key, influencer, decision string) answer {
		body, err := json.Marshal(map[string]string{"influencer_id": influencer, "decision": decision})
		if err != nil {
			t.Fatal(err)
		}
		return s.call("POST", "/admin/v1/order/"+path+"/evidence", key, string(body))
	}
	s.want(decide("A%201", s.live, ana, "withdraw"), 200, "") // nothing was decided
	s.want(decide("A%201", s.live, ana, "accept"), 200, "")
	s.want(decide("A%201", s.live, strings.ToUpper(ana), "refuse"), 200, "") // the same id: UUIDs have no case (RFC 9562)
	s.want(decide("A%201", s.live, ana, "withdraw"), 200, "")
	s.want(decide("A%201", s.live, ana, "perhaps"), 400, "validation_error")
	s.want(decide("A%201", s.live, "ana", "accept"), 400, "validation_error")
	s.want(s.call("POST", "/admin/v1/order/A%201/evidence", s.live, `{}`), 400, "validation_error")
	s.want(decide("other", s.live, ana, "accept"), 404, "not_found")
	s.want(decide("A%201", s.live, "01938a4e-6f5a-7c11-a6c1-0d3cf5a0a5b2", "accept"), 404, "not_found")
	s.want(decide("A%201", s.key(s.store.Live.CompanyID, account.WriteOrders), ana, "accept"), 403, "insufficient_scope")
	s.want(s.call("POST", "/sandbox/admin/v1/order/A%201/evidence", s.test, `{"influencer_id":"`+ana+`","decision":"accept"}`), 404,
		"not_found")

	var records []wire.Commerce
	s.read(wire.TopicCommerce, devtest.Partitions, func(r kafka.Record) bool {
		var c wire.Commerce
		if err := json.Unmarshal(r.Value, &c); err != nil {
			t.Errorf("%s: %v", r.Value, err)
		}
		if c.Kind == wire.KindEvidence {
			records = append(records, c)
		}
		return len(records) == 4
	})
	for i, want := range []string{commerce.EvidenceWithdraw, commerce.EvidenceAccept, commerce.EvidenceRefuse, commerce.EvidenceWithdraw} {
		var body wire.Evidence
		if err := json.Unmarshal(records[i].Body, &body); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(body, wire.Evidence{OrderID: "A 1", InfluencerID: ana, Decision: want}) ||
			records[i].CompanyID != s.store.Live.CompanyID {
			t.Errorf("%+v %+v", records[i], body)
		}
	}
	for i := range records[1:] {
		if records[i].Rev >= records[i+1].Rev || records[i].AcceptedAt.After(records[i+1].AcceptedAt) {
			t.Errorf("revisions %d and %d", records[i].Rev, records[i+1].Rev)
		}
	}
}

// Each decision about an order is read whenever the order is computed, so there is an end
// to them.
func TestDecisionsAboutAnOrderAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.want(s.call("POST", "/admin/v1/influencers", s.live, `{"name":"Ana Prado","links":[{"url":"https://loja.example.com/"}]}`), 200, "")
	s.want(s.call("POST", "/admin/v1/order", s.live,
		`{"orderId":"1","orderStatus":0,"createdAt":"2026-11-20T12:00:00Z","totalPrice":10,"currency":"BRL"}`), 200, "")
	conn, err := pgx.Connect(t.Context(), s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	decide := func() answer {
		return s.call("POST", "/admin/v1/order/1/evidence", s.live, `{"influencer_id":"`+s.influencerID()+`","decision":"accept"}`)
	}
	put := func(first, last int) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), `
			insert into evidence_decision (company_id, order_id, influencer_id, rev, decision, accepted_at, actor)
			select $1, '1', $2, n, 'accept', now(), 'test' from generate_series($3::int, $4::int) n`, s.store.Live.CompanyID, s.influencerID(),
			first, last); err != nil {
			t.Fatal(err)
		}
	}
	put(1, commerce.MaxDecisions-1)
	s.want(decide(), 200, "")
	put(commerce.MaxDecisions, commerce.MaxDecisions)
	got := decide()
	s.want(got, 400, "validation_error")
	if len(got.Error.Details) != 1 || got.Error.Details[0].Field != "decision" || got.Error.Details[0].Code != commerce.CodeTooMany {
		t.Errorf("%+v", got.Error)
	}
}

// influencerID is the id of the only influencer.
func (s *service) influencerID() string {
	s.t.Helper()
	got := s.call("GET", "/admin/v1/influencers", s.live, "")
	var list []struct{ ID string }
	if err := json.Unmarshal(got.Data, &list); err != nil || len(list) != 1 {
		s.t.Fatalf("%s, %v", got.Data, err)
	}
	return list[0].ID
}

// A dispute needs its own scope and a reason.
func TestADisputeIsDecided(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.want(s.call("POST", "/admin/v1/influencers", s.live,
		`{"name":"Ana Prado","campaign":"Inverno","links":[{"url":"https://loja.example.com/"}]}`), 200, "")
	ana, company := s.influencerID(), s.store.Live.CompanyID
	const order = `{"orderId":"A1","orderStatus":0,"createdAt":"2026-11-20T12:00:00Z","totalPrice":10,"currency":"BRL"}`
	s.want(s.call("POST", "/admin/v1/order", s.live, order), 200, "")
	decide := func(key, influencer, decision, reason string) answer {
		body, err := json.Marshal(map[string]string{"influencer_id": influencer, "decision": decision, "reason": reason})
		if err != nil {
			t.Fatal(err)
		}
		return s.call("POST", "/admin/v1/order/A1/assignment", key, string(body))
	}
	key := s.key(company, account.AssignOrders)
	s.want(decide(key, ana, "assign", "she forgot the coupon"), 200, "")
	s.want(decide(key, ana, "deny", "a leaked coupon"), 200, "")
	s.want(decide(key, ana, "release", "a mistake"), 200, "")
	s.want(decide(key, ana, "accept", "x"), 400, "validation_error")
	s.want(decide(key, ana, "assign", " "), 400, "validation_error")
	s.want(decide(key, ana, "assign", strings.Repeat("é", commerce.MaxDecisionReason+1)), 400, "validation_error")
	s.want(decide(key, "ana", "assign", "x"), 400, "validation_error")
	s.want(decide(key, "01938a4e-6f5a-7c11-a6c1-0d3cf5a0a5b2", "assign", "x"), 404, "not_found")
	s.want(decide(s.key(company, account.WriteEvidence), ana, "assign", "x"), 403, "insufficient_scope")
	s.want(decide(s.key(company, account.AdminScopes...), ana, "assign", "x"), 403, "insufficient_scope") // only where it is named
	s.want(s.call("POST", "/admin/v1/order/A1/evidence", key, `{"influencer_id":"`+ana+`","decision":"refuse"}`), 403, "insufficient_scope")
	log, err := s.db.AuditLog(t.Context(), company, "", "order.assign", 10)
	if err != nil || len(log) != 3 || !strings.Contains(log[2].Detail, "she forgot the coupon") || log[2].Subject != "A1" {
		t.Errorf("%+v, %v", log, err)
	}
}

// An API key is no person: where a second one has to confirm decisions, it makes none. It may ask what one would move.
func TestAKeyDecidesNothingWhereASecondPersonConfirms(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.want(s.call("POST", "/admin/v1/influencers", s.live, `{"name":"Ana Prado","links":[{"url":"https://loja.example.com/"}]}`), 200, "")
	s.want(s.call("POST", "/admin/v1/order", s.live,
		`{"orderId":"1","orderStatus":0,"createdAt":"2026-11-20T12:00:00Z","totalPrice":10,"currency":"BRL"}`), 200, "")
	if _, _, err := s.db.ChangeSettings(t.Context(), commerce.SettingsChange{CompanyID: s.store.Live.CompanyID, Actor: "cli",
		Change: func(now *commerce.Settings) { now.ConfirmDecisions = true }}); err != nil {
		t.Fatal(err)
	}
	for path, decision := range map[string]string{"evidence": `"accept"`, "assignment": `"assign","reason":"she forgot the coupon"`} {
		s.want(s.call("POST", "/admin/v1/order/1/"+path, s.live, `{"influencer_id":"`+s.influencerID()+`","decision":`+decision+`}`), 409,
			"second_person_needed")
	}
	conn, err := pgx.Connect(t.Context(), s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	var decided int
	err = conn.QueryRow(t.Context(), `select count(*) from audit_log where action like 'order.%'`).Scan(&decided)
	if err != nil || decided != 0 {
		t.Errorf("%d decisions were made, %v", decided, err)
	}
}
