package main

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	segment "github.com/segmentio/kafka-go"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/dev/devstack"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// stricken is an installation to which disasters happen.
type stricken struct {
	*services
	broker *devstack.Broker
	etc    string // in place of /etc/tributary
	sold   int    // sales so far, also lost ones: of each the cart has its number
	orders int64  // that the database is to have
	paid   int64  // of these, those that are an influencer's
}

// newStricken starts the services, with one influencer.
func newStricken(t *testing.T) *stricken {
	t.Helper()
	devtest.NeedsIntegration(t)
	s := &stricken{etc: t.TempDir()}
	for name, value := range map[string]string{"PARTITIONS": "8", "REPLICATION": "1", "MIN_INSYNC_REPLICAS": "1",
		"HASHING_SECRET_FILE": filepath.Join(s.etc, "hashing")} {
		t.Setenv("TRIBUTARY_"+name, value)
	}
	s.saveSecret(t, "s")
	s.startBroker(t, "")
	plan := kafka.TopicPlan{Partitions: devtest.Partitions, Replication: 1, MinInsyncReplicas: 1}
	if err := newClient(t, s.broker.Addr()).EnsureTopics(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	s.services = startServicesAt(t, s.broker.Addr(), s.edgeArgs()...)
	out, status := command(t, "keys", "create", "rules", "--company", s.company, "--scope", "influencers.write,payees.write")
	if status != 0 {
		t.Fatal(out)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	s.rules(func(db stores, author commerce.Author) error {
		_, err := db.RegisterInfluencer(t.Context(), author, commerce.Registration{Name: "Ana", CouponOnly: true,
			Costs: []commerce.CostTerms{{VarFee: decimal.NewFromInt(10), StartDate: "2026-01-01"}}}, rand.Reader)
		return err
	})
	s.admin.is(http.StatusOK, func() *http.Request {
		r := s.request(http.MethodPut, s.admin.origin()+"/admin/v1/influencers", `{"name":"Ana","details":{"email":"ana@example.com"}}`)
		r.Header.Set("Authorization", "Bearer "+lines[len(lines)-1])
		return r
	})
	return s
}

func (s *stricken) saveSecret(t *testing.T, letter string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.etc, "hashing"), []byte(strings.Repeat(letter, 32)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *stricken) edgeArgs() []string {
	return []string{"--spool", filepath.Join(s.etc, "spool"), "--snapshot", filepath.Join(s.etc, "directory.json")}
}

// startBroker starts a Kafka with nothing in it; addr: where the one before was.
func (s *stricken) startBroker(t *testing.T, addr string) {
	t.Helper()
	var err error
	if s.broker, err = devstack.StartBroker(devstack.BrokerConfig{Addr: addr}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.broker.Stop)
}

// rules changes rules, and waits until Kafka has the change.
func (s *stricken) rules(change func(db stores, author commerce.Author) error) {
	s.t.Helper()
	db, err := openStores(s.t.Context(), s.dsn)
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	if err := change(db, commerce.Author{CompanyID: s.company, Actor: actor, At: time.Now()}); err != nil {
		s.t.Fatal(err)
	}
	await.Until(s.t, await.Long, func() bool { return one[int64](s.t, s.dsn, `select count(*) from outbox`) == 0 }, s.admin.out.String)
}

// pays changes what the influencer gets of each sale, also of those before.
func (s *stricken) pays(percent int64) {
	s.t.Helper()
	s.rules(func(db stores, author commerce.Author) error {
		_, _, err := db.AddCost(s.t.Context(), author, "Ana", "", commerce.CostTerms{VarFee: decimal.NewFromInt(percent),
			StartDate: "2026-01-01"}, rand.Reader)
		return err
	})
}

const strickenCart = "3f9d2b7c6e1a4850b7d2c9e4f1a6%04d"

// visits sends an event of a visitor whom the influencer sends, with the cart of a number.
func (s *stricken) visits(cart int) {
	s.t.Helper()
	body := fmt.Sprintf(`{"companyId":%q,"event":"PAGE_VIEW","eventId":%q,"visitorId":%q,"identity":{"cart_token":"`+strickenCart+`"},
		"context":{"page":{"url":"https://loja.example.com/?utm_source=influencer&utm_campaign=Ana"}}}`,
		s.company, uuid.Must(uuid.NewV7()), uuid.NewString(), cart)
	s.edge.is(http.StatusOK, func() *http.Request { return s.request(http.MethodPost, s.edge.origin()+"/v1/events", body) })
}

// buys sends an order with the cart of a number.
func (s *stricken) buys(id string, cart int, customer string) {
	s.t.Helper()
	body := fmt.Sprintf(`{"orderId":%q,"orderStatus":0,"createdAt":%q,"totalPrice":100,"currency":"BRL","cartToken":"`+strickenCart+`",
		"customer":{%s}}`, id, time.Now().UTC().Add(time.Second).Format(time.RFC3339), cart, customer)
	s.admin.is(http.StatusOK, func() *http.Request { return s.request(http.MethodPost, s.admin.origin()+"/admin/v1/order", body) })
}

// sells sends a visit and its order, and returns the order's id.
func (s *stricken) sells() string {
	s.t.Helper()
	s.sold++
	id := fmt.Sprint("sale", s.sold)
	s.visits(s.sold)
	s.buys(id, s.sold, "")
	return id
}

// keeps is sells of a sale that is not lost.
func (s *stricken) keeps() {
	s.t.Helper()
	s.sells()
	s.orders++
	s.paid++
}

// isRight waits until the orders and payouts are there that are to be there, and checks that the outcomes are those of the facts.
// It returns the ledger hash.
func (s *stricken) isRight() (hash string) {
	s.t.Helper()
	var orders, paid int64
	await.Until(s.t, await.Long, func() bool {
		orders = one[int64](s.t, s.dsn, `select count(*) from orders`)
		paid = one[int64](s.t, s.dsn, `select count(*) from payout where state in ('earned', 'expected')`)
		return orders == s.orders && paid == s.paid
	}, func() string {
		return fmt.Sprintf("%d orders and %d of the influencer, want %d and %d\n%s", orders, paid, s.orders, s.paid, s.processor.out.String())
	})
	found := reported[verification](s.t, 0, "verify", "--postgres", s.dsn)
	if !found.Equal {
		s.t.Errorf("%+v", found)
	}
	return found.LiveHash
}

// isLost wants that an order is not there.
func (s *stricken) isLost(id string) {
	s.t.Helper()
	if one[int64](s.t, s.dsn, `select count(*) from orders where order_id = $1`, id) != 0 {
		s.t.Errorf("%s is there, though the page says that it is lost", id)
	}
}

// written is how many records the logs that processors read have had, by topic.
func (s *stricken) written() map[string]int64 {
	s.t.Helper()
	client, ends := newClient(s.t, s.broker.Addr()), map[string]int64{}
	for _, topic := range wire.Processed {
		for p := range devtest.Partitions {
			end, err := client.LogEnd(s.t.Context(), topic, p)
			if err != nil {
				s.t.Fatal(err)
			}
			ends[topic] += end
		}
	}
	return ends
}

// retentionPasses removes all records that the logs have.
func (s *stricken) retentionPasses() {
	s.t.Helper()
	for _, topic := range wire.Processed {
		if err := s.broker.Empty(s.t.Context(), topic, devtest.Partitions); err != nil {
			s.t.Fatal(err)
		}
	}
}

// remove deletes a topic.
func (s *stricken) remove(topic string) {
	s.t.Helper()
	admin := &segment.Client{Addr: segment.TCP(s.broker.Addr()), Transport: &segment.Transport{}} // no connection to a broker of before
	response, err := admin.DeleteTopics(s.t.Context(), &segment.DeleteTopicsRequest{Topics: []string{topic}})
	if err == nil {
		err = response.Errors[topic]
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// systemctl plays the program, with the services of this test.
func (s *stricken) systemctl(words []string) {
	s.t.Helper()
	for _, unit := range words[1:] {
		service := map[string]**running{"tributary-admin": &s.admin, "tributary-processor": &s.processor, "tributary-edge": &s.edge}[unit]
		if service == nil {
			continue // connect, which has nothing to do here
		}
		if words[0] != "start" && !(*service).done { // it may have ended by itself, and with another status
			(*service).done = true
			(*service).cancel()
			<-(*service).ended
		}
		if words[0] == "stop" {
			continue
		}
		switch unit {
		case "tributary-admin":
			s.admin = start(s.t, "admin", "--short-base", "go.example.com")
		case "tributary-processor":
			s.processor = start(s.t, "processor")
		case "tributary-edge":
			s.edge = start(s.t, append([]string{"edge"}, s.edgeArgs()...)...)
		}
	}
}

// follow begins with a section of the page.
func (s *stricken) follow(heading string) *follower {
	s.t.Helper()
	f := newFollower(s.t, sectionOf(s.t, docsPage(s.t, "operations.md"), heading), s.etc, s.dsn)
	f.names, f.plays["systemctl"] = s.company, s.systemctl
	return f
}

// doctor carries out the line and returns what fails, but for what the tests' PostgreSQL is set to.
func (f *follower) doctor() (fails []string) {
	f.t.Helper()
	for line := range strings.Lines(f.does("tributary doctor", 1)) {
		if strings.HasPrefix(line, "FAIL") && !strings.Contains(line, "fsync is off") && !strings.Contains(line, "synchronous_commit is off") {
			fails = append(fails, line)
		}
	}
	return fails
}
