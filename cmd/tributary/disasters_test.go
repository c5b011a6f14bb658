package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
)

// refuses wants that a command ends with a text.
func refuses(t *testing.T, want string, args ...string) {
	t.Helper()
	if out, status := command(t, args...); status != statusFailed || !strings.Contains(out, want) {
		t.Errorf("%v: exit status %d, want 1 and %q in\n%s", args, status, want, out)
	}
}

var saidLost = regexp.MustCompile(`(?m)^(\S+)/\d+: stored .*\n(?:.*\n){2}  (\d+) records were removed`)

// TestThePageOfDisastersIsFollowed does what docs/operations.md says of each disaster, command by command, and wants what it
// says of the loss. They happen one after the other to one installation.
func TestThePageOfDisastersIsFollowed(t *testing.T) {
	s := newStricken(t)
	s.keeps()
	s.keeps()
	hash := s.isRight()
	s.twoInstallations()
	if got := s.isRight(); got != hash {
		t.Errorf("the ledger hash was %s, and is %s", hash, got)
	}
	s.recordsWent()
	s.restoredBeyondRetention()
	s.topicMadeAgain()
	s.kafkaLost()
	s.secretLost()
}

// Somebody gives services of another installation, whose Kafka is new, the address of this database.
func (s *stricken) twoInstallations() {
	s.t.Helper()
	ours, theirs := s.broker.Addr(), devtest.Kafka(s.t)
	f := s.follow("### Two installations on one database")
	f.plays["editor"] = func([]string) { s.t.Setenv("TRIBUTARY_KAFKA_BROKERS", ours) }
	s.t.Setenv("TRIBUTARY_KAFKA_BROKERS", theirs)
	const said = "these topics belong to another installation: the database is of another Kafka"
	refuses(s.t, said, "migrate", "--postgres", s.dsn)
	refuses(s.t, said, "admin", "--short-base", "go.example.com")
	refuses(s.t, said, "processor")
	if end, err := newClient(s.t, theirs).LogEnd(s.t.Context(), wire.TopicDirectory, 0); err != nil || end != 0 {
		s.t.Errorf("%d records were written there (%v)", end, err)
	}
	if fails := strings.Join(f.doctor(), ""); !strings.Contains(fails, said) {
		s.t.Errorf("doctor finds %s", fails)
	}
	f.does("editor", 0)
	if fails := f.doctor(); len(fails) > 0 {
		s.t.Errorf("doctor finds %s", fails)
	}
	f.ends()
}

// lostBy adds what `offsets reset` says is lost of each topic, and when it was written.
func (s *stricken) lostBy(said string) map[string]int64 {
	s.t.Helper()
	lost := map[string]int64{}
	for _, m := range saidLost.FindAllStringSubmatch(said, -1) {
		n, err := strconv.ParseInt(m[2], 10, 64)
		if err != nil {
			s.t.Fatal(err)
		}
		lost[m[1]] += n
	}
	return lost
}

// tellsBounds wants that what is said to be lost is what was written between two moments.
func (s *stricken) tellsBounds(said string, before, after map[string]int64) {
	s.t.Helper()
	lost := s.lostBy(said)
	for _, topic := range wire.Processed {
		if want := after[topic] - before[topic]; lost[topic] != want {
			s.t.Errorf("of %s %d records are said to be lost, want %d:\n%s", topic, lost[topic], want, said)
		}
	}
	if !strings.Contains(said, "All of them were written before ") {
		s.t.Errorf("it is not said when they were written:\n%s", said)
	}
}

// While the processor sleeps a sale comes, an erasure is asked for, and what is paid of all sales changes; then the retention passes.
func (s *stricken) recordsWent() {
	s.t.Helper()
	s.processor.stop()
	before := s.written()
	lost := s.sells()
	if out, status := command(s.t, "erase", "--company", s.company, "--email", "rui@example.com", "--wait", "0"); status != 0 {
		s.t.Fatal(out)
	}
	s.pays(20)
	after := s.written()
	s.retentionPasses()
	s.keeps()
	s.processor = start(s.t, "processor")
	s.processor.says("records that were not yet read are gone from the log")
	f := s.follow("### Records went before they were read")
	said := f.says("tributary offsets reset --halted", "will be read from")
	f.ends()
	s.tellsBounds(said, before, after)
	s.isRight()
	s.isLost(lost)
	await.Until(s.t, await.Long, func() bool {
		return one[int64](s.t, s.dsn, `select count(*) from erasure where done_at is not null`) == 1
	}, func() string { return "the person whose erasure was lost with the records is not erased" })
}

// PostgreSQL is restored from a backup that is older than the retention.
func (s *stricken) restoredBeyondRetention() {
	s.t.Helper()
	s.processor.stop()
	backup := copyWhile(s.t, s.services)
	before := s.written()
	s.processor = start(s.t, "processor")
	s.keeps()
	lost := fmt.Sprint("sale", s.sold)
	s.isRight()
	after := s.written()
	s.retentionPasses()
	s.keeps()
	s.isRight()

	f := s.follow("### Backup and restore")
	f.does("systemctl stop", 0)
	s.t.Setenv("TRIBUTARY_POSTGRES", devtest.AsServices(s.t, backup))
	s.dsn, f.owner = backup, backup
	s.orders, s.paid = s.orders-1, s.paid-1
	f.says("tributary migrate", "up to date")
	f.does("tributary directory show", 0)
	f.says("tributary directory prune", "nothing was removed")
	f.does("systemctl start", 0)
	s.processor.says("records that were not yet read are gone from the log")
	f.says("tributary offsets show", "records that were not yet read are gone")
	went := s.follow("### Records went before they were read")
	said := went.says("tributary offsets reset --halted", "will be read from")
	went.ends()
	s.tellsBounds(said, before, after)
	s.systemctl([]string{"restart", "tributary-processor"}) // it would go on by itself, within 30 seconds
	s.isRight()
	s.isLost(lost)
	await.Until(s.t, await.Long, func() bool {
		_, status := command(s.t, "statement", "unblock", "--company", s.company, "--yes")
		return status == 0
	}, s.processor.out.String)
	f.says("tributary statement unblock", "nothing was changed")
	f.ends()
}

// A topic is deleted that has a record which was not applied.
func (s *stricken) topicMadeAgain() {
	s.t.Helper()
	s.processor.stop()
	lost := s.sells()
	for _, topic := range wire.Processed {
		s.remove(topic)
	}
	refuses(s.t, "run `tributary migrate`", "processor")
	f := s.follow("### A topic was made again")
	f.says("tributary migrate", "up to date")
	s.processor = start(s.t, "processor")
	s.processor.says("the topic was deleted and made again")
	s.keeps()
	said := f.says("tributary offsets reset --halted", "are lost, unless you bring that log back first")
	f.ends()
	if !strings.Contains(said, "All orders of 2 companies will be computed again") {
		s.t.Errorf("the companies' orders are not computed again:\n%s", said)
	}
	s.systemctl([]string{"restart", "tributary-processor"}) // as above
	s.isRight()
	s.isLost(lost)
}

// Kafka and its disks are gone, with a sale that was not applied. Meanwhile an event comes.
func (s *stricken) kafkaLost() {
	s.t.Helper()
	s.processor.stop()
	lost := s.sells()
	addr := s.broker.Addr()
	s.broker.Stop()
	s.sold++
	s.visits(s.sold) // to the spool
	s.startBroker(s.t, addr)
	refuses(s.t, "the database is of another Kafka", "migrate", "--postgres", s.dsn)
	refuses(s.t, "the lost topics had 8 partitions, not 16: give --partitions 8",
		"migrate", "--postgres", s.dsn, "--new-kafka", "--partitions", "16")
	if missing, err := newClient(s.t, addr).MissingTopics(s.t.Context(), wire.Topics...); err != nil || len(missing) != len(wire.Topics) {
		s.t.Errorf("of a refused Kafka these topics are missing: %v (%v)", missing, err)
	}
	f := s.follow("### Kafka is lost")
	f.does("systemctl stop", 0)
	f.says("tributary migrate", "up to date")
	refuses(s.t, "the database is of another Kafka", "processor")
	f.says("tributary offsets reset --halted", "All orders of 2 companies will be computed again")
	f.does("systemctl start", 0)
	f.ends()
	s.buys(fmt.Sprint("sale", s.sold), s.sold, "")
	s.orders, s.paid = s.orders+1, s.paid+1
	s.keeps()
	s.isRight()
	s.isLost(lost)
}

// Nobody has the hashing secret any more.
func (s *stricken) secretLost() {
	s.t.Helper()
	const bia = `"email":"bia@example.com"`
	s.buys("bia's", 0, bia)
	s.buys("bia's second", 0, bia)
	s.orders += 2
	s.sold++
	cart := s.sold
	s.visits(cart)
	before := s.isRight()
	if err := os.Remove(filepath.Join(s.etc, "hashing")); err != nil {
		s.t.Fatal(err)
	}
	if out, status := command(s.t, "edge"); status == 0 {
		s.t.Errorf("an edge starts without it:\n%s", out)
	}
	f := s.follow("### The hashing secret is lost")
	f.plays["kafka-topics.sh"] = func(words []string) {
		line := strings.Join(words, " ")
		if line != `--bootstrap-server "$TRIBUTARY_KAFKA_BROKERS" --delete --topic "$TRIBUTARY_TOPIC_PREFIX"directory.v1` {
			s.t.Fatal(line)
		}
		s.remove(wire.TopicDirectory)
	}
	f.does("systemctl stop tributary-admin", 0)
	f.does("(umask 077;", 0)
	f.does("kafka-topics.sh", 0)
	f.says("tributary migrate", "up to date")
	f.does("systemctl restart tributary-edge", 0)
	f.does("systemctl start tributary-admin", 0)
	s.admin.says("directory published")
	if fails := f.doctor(); len(fails) > 0 {
		s.t.Errorf("doctor finds %s", fails)
	}
	f.ends()
	if got := s.isRight(); got != before {
		s.t.Errorf("the ledger hash was %s, and is %s", before, got)
	}
	s.buys("bia's third", 0, bia)
	s.buys("by the lost secret", cart, "") // the page says that it joins nothing
	s.orders += 2
	s.keeps()
	s.isRight()
	for order, want := range map[string]bool{"bia's": true, "bia's second": false, "bia's third": true} { // the page says of the last: lost
		if got := one[bool](s.t, s.dsn, `select is_first_order from payout where order_id = $1`, order); got != want {
			s.t.Errorf("%s is a first order: %v", order, got)
		}
	}
	// The influencer's own order is known as such by the new secret too.
	s.sold++
	s.visits(s.sold)
	s.buys("her own", s.sold, `"email":"ana@example.com"`)
	s.orders++
	s.isRight()
	const own = `select state || ' ' || reason from payout where order_id = 'her own'`
	if got := one[string](s.t, s.dsn, own); got != "review self_purchase" {
		s.t.Errorf("an influencer's own order is %s", got)
	}
}
