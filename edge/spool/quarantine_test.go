package spool_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	segment "github.com/segmentio/kafka-go"

	"github.com/tributary-io/tributary/edge/spool"
	"github.com/tributary-io/tributary/internal/produce"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
)

// refusing stands for a topic whose max.message.bytes was lowered.
func refusing(word string) func(values string) error {
	return func(values string) error {
		if strings.Contains(values, word) {
			return segment.MessageSizeTooLarge
		}
		return nil
	}
}

// What was acknowledged and is refused for good later is neither lost nor in
// the way of the others, of its request and of its partition.
func TestWhatKafkaRefusesForGoodIsQuarantinedUntilTheNextStart(t *testing.T) {
	c := &cluster{answer: func(string) error { return segment.TopicAuthorizationFailed }}
	dir := t.TempDir()
	e := start(t, c, spool.Config{Dir: dir})
	e.wantSent("a", produce.Spooled)
	if _, err := e.send("b", "poison1", "c", "poison2"); err != nil {
		t.Fatal(err)
	}
	e.wantSent("d", produce.Spooled)
	c.set(func() { c.answer = refusing("poison") })
	e.awaitEmpty()
	e.wantSent("e", "")
	c.awaitValues(t, "a b c d e")
	if state := e.spool.State(); state.Refused != 2 || state.Bytes == 0 {
		t.Errorf("quarantined: %+v", state)
	}
	e.stop()
	e = start(t, c, spool.Config{Dir: dir}) // refused once more
	e.awaitEmpty()
	await.Until(t, await.Long, func() bool {
		return e.spool.State().Refused == 2
	}, func() string { return fmt.Sprintf("%+v", e.spool.State()) })
	e.stop()
	c.set(func() { c.answer = nil })
	e = start(t, c, spool.Config{Dir: dir})
	e.awaitEmpty()
	c.awaitValues(t, "a b c d e poison1 poison2")
	if state := e.spool.State(); state.Refused != 0 || state.Bytes != 0 {
		t.Errorf("sent: %+v", state)
	}
}

// What a dead edge had quarantined is tried again by the edge that adopts it.
func TestWhatADeadEdgeHadQuarantinedIsAdopted(t *testing.T) {
	c := &cluster{answer: func(string) error { return segment.TopicAuthorizationFailed }}
	dir := t.TempDir()
	first, second := start(t, c, spool.Config{Dir: dir}), start(t, c, spool.Config{Dir: dir})
	second.wantSent("poison", produce.Spooled)
	c.set(func() { c.answer = refusing("poison") })
	second.awaitEmpty()
	await.Until(t, await.Long, func() bool { return second.spool.State().Refused == 1 }, func() string { return "it is quarantined" })
	second.stop()
	first.stop()
	c.set(func() { c.answer = nil })
	third := start(t, c, spool.Config{Dir: dir}) // in the first's directory
	third.awaitEmpty()
	c.awaitValues(t, "poison")
}

// Where the place for refused records is full, the partition waits, and nothing
// is lost.
func TestAFullPlaceForRefusedRecordsHoldsThePartition(t *testing.T) {
	dir := t.TempDir() // outside: files know no virtual time
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{answer: func(string) error { return segment.TopicAuthorizationFailed }}
		e := start(t, c, spool.Config{Dir: dir, MaxBytes: spool.MinBytes})
		poison := "poison" + strings.Repeat("x", 30<<10)
		const n = 6 // 128 KiB take four
		for range n {
			e.wantSent(poison, produce.Spooled)
		}
		e.wantSent("last", produce.Spooled)
		c.set(func() { c.answer = refusing("poison") })
		time.Sleep(10 * time.Minute)
		if state := e.spool.State(); state.Refused != 4 || c.values() != "" || !e.spool.Holds(produce.Partition{Topic: wire.TopicEvents}) {
			t.Errorf("%d are quarantined, in the log %d bytes", state.Refused, len(c.values()))
		}
		c.set(func() { c.answer = nil })
		time.Sleep(time.Minute)
		if got := c.values(); strings.Count(got, "poison") != n-4 || !strings.HasSuffix(got, "last") {
			t.Errorf("sent: %d", strings.Count(got, "poison"))
		}
	})
}

// A place for refused records that cannot be read does not keep an edge from
// starting, nor from spooling.
func TestWithoutAPlaceForRefusedRecordsThePartitionWaits(t *testing.T) {
	dir := t.TempDir()
	quarantine := filepath.Join(dir, "1", "refused")
	if err := os.MkdirAll(quarantine, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(quarantine, "0000000000000001.seg"), []byte("TRBSEG99 of a later version"), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{answer: func(string) error { return segment.TopicAuthorizationFailed }}
		e := start(t, c, spool.Config{Dir: dir})
		e.wantSent("poison", produce.Spooled)
		c.set(func() { c.answer = refusing("poison") })
		time.Sleep(2 * time.Minute)
		if state := e.spool.State(); state.Refused != 0 || len(e.spool.Partitions()) != 1 {
			t.Errorf("%+v", state)
		}
		c.set(func() { c.answer = nil })
		time.Sleep(time.Minute)
		if c.values() != "poison" {
			t.Errorf("in the log: %q", c.values())
		}
	})
}
