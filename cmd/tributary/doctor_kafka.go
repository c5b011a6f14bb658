package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/dev"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
)

// wire.Topics are those that migrate makes.

const runMigrate = "run `tributary migrate`"

// checkBrokers tells whether Kafka answers at all.
func (e *examination) checkBrokers(ctx context.Context, f *findings, client *kafka.Client) bool {
	cluster, err := client.Cluster(ctx)
	if err != nil {
		f.fail("Kafka", err.Error(),
			"start it, or correct --kafka-brokers and the --kafka-tls and --kafka-sasl flags: "+strings.Join(e.kafka.Brokers, ", ")+" was asked")
		return false
	}
	f.ok("Kafka", fmt.Sprintf("cluster %s, brokers: %d", cluster.ID, len(cluster.Brokers)))
	if strings.HasPrefix(cluster.ID, dev.ClusterPrefix) {
		f.remark("Kafka", "the embedded broker of `tributary dev`, for trying out: one copy of each record, whatever --replication asks for, "+
			"kept for good")
		e.replication, e.minInSync, e.demo = 1, 1, true
	}
	for _, broker := range cluster.Brokers {
		if err := client.Reach(ctx, broker); err != nil {
			f.fail("broker "+broker, err.Error(),
				"start that broker, or correct its advertised.listeners: by that address clients must reach it from here")
		}
	}
	return true
}

// checkTopics compares the topics with what migrate would make of them.
func (e *examination) checkTopics(ctx context.Context, f *findings, client *kafka.Client) {
	topics, err := client.Topics(ctx, wire.Topics...)
	if err != nil {
		f.fail("topics", err.Error(), "let this user describe topics and their settings")
		return
	}
	before := f.Failed
	partitions := map[string]int{}
	for _, topic := range topics {
		if topic.Partitions == 0 {
			f.fail("topic "+topic.Name, "is not there", runMigrate)
			continue
		}
		partitions[topic.Name] = topic.Partitions
		e.checkTopic(f, topic)
	}
	events := partitions[wire.TopicEvents]
	for _, name := range wire.Processed {
		if n := partitions[name]; events > 0 && n > 0 && n != events {
			f.fail("topics", fmt.Sprintf("%s has %d partitions and %s %d: one processor owns the same partition of each", wire.TopicEvents,
				events, name, n),
				"make the counts equal before anything is written; with data in them that is an offline operation (docs/operations.md)")
		}
	}
	for _, name := range []string{wire.TopicDirectory, wire.TopicResults} {
		if partitions[name] > 1 {
			f.fail("topic "+name, fmt.Sprintf("has %d partitions: only the first is read", partitions[name]),
				"delete the topic and "+runMigrate+"; nothing in it is lost for good")
		}
	}
	if f.Failed == before {
		f.ok("topics", fmt.Sprintf("%d partitions of commerce, events and bulk", events))
	}
}

// Retentions in milliseconds. shortRetention is a night and a morning in which
// nobody repairs a processor; longPersonal is how long commerce.v1 keeps personal
// fields by default (docs/notes/wire.md, "Topics").
const (
	shortRetention = int64(24 * time.Hour / time.Millisecond)
	longPersonal   = int64(7 * 24 * time.Hour / time.Millisecond)
)

// leastMessageBytes is what a topic must take in one batch: the edge's largest is
// 768 KiB (edge.Config.MaxBatchBytes).
const leastMessageBytes = 1 << 20

// checkTopic checks the replicas and the settings of one topic.
func (e *examination) checkTopic(f *findings, topic kafka.TopicState) {
	about := "topic " + topic.Name
	set := func(setting, value string) string {
		return fmt.Sprintf("kafka-configs.sh --alter --topic %s --add-config %s=%s", e.kafka.TopicPrefix+topic.Name, setting, value)
	}
	number := func(setting string) int64 {
		n, err := strconv.ParseInt(topic.Settings[setting], 10, 64)
		if err != nil {
			f.warn(about, fmt.Sprintf("Kafka says %q of %s", topic.Settings[setting], setting),
				"look whether this user may describe the topic's settings")
			return -1
		}
		return n
	}
	switch minInSync := int(number("min.insync.replicas")); {
	case topic.Leaderless > 0:
		f.fail(about, fmt.Sprintf("%d partitions have no leader: nothing can be written to them", topic.Leaderless),
			"start the brokers that hold them")
	case topic.InSync < minInSync:
		f.fail(about, fmt.Sprintf("a partition has %d replicas in sync, and min.insync.replicas is %d: it takes no records", topic.InSync,
			minInSync), "start the brokers that are missing")
	case topic.Replication < e.replication:
		f.fail(about, fmt.Sprintf("has %d replicas, not %d: what was acknowledged is lost with the disks of so many brokers",
			topic.Replication, e.replication),
			"add replicas with kafka-reassign-partitions.sh, or give the --replication that is meant")
	case minInSync < e.minInSync:
		f.fail(about, fmt.Sprintf("min.insync.replicas is %d, not %d: a record is acknowledged while so few brokers have it",
			minInSync, e.minInSync),
			set("min.insync.replicas", strconv.Itoa(e.minInSync))+", or give the --min-insync-replicas that is meant")
	case topic.InSync < topic.Replication:
		f.warn(about, fmt.Sprintf("a partition has %d of %d replicas in sync", topic.InSync, topic.Replication),
			"look at the broker that is behind or stopped")
	case minInSync == topic.Replication && minInSync > 1:
		f.warn(about, fmt.Sprintf("min.insync.replicas is %d, the count of replicas: one stopped broker stops all writing", minInSync),
			set("min.insync.replicas", strconv.Itoa(minInSync-1)))
	}
	if topic.Settings["unclean.leader.election.enable"] == "true" {
		f.fail(about, "unclean.leader.election.enable is true: a broker that lacks the newest records may become the leader, and they are lost",
			set("unclean.leader.election.enable", "false"))
	}
	if n := number("max.message.bytes"); n >= 0 && n < leastMessageBytes {
		f.fail(about, fmt.Sprintf("max.message.bytes is %d: larger batches are refused for good", n),
			set("max.message.bytes", strconv.Itoa(leastMessageBytes)))
	}
	e.checkRetention(f, about, topic, set, number)
}

func (e *examination) checkRetention(f *findings, about string, topic kafka.TopicState, set func(setting, value string) string,
	number func(setting string) int64) {
	policy := topic.Settings["cleanup.policy"]
	if topic.Name == wire.TopicDirectory {
		if policy != "compact" {
			f.fail(about, fmt.Sprintf("cleanup.policy is %s: companies and links disappear from the edges", policy),
				set("cleanup.policy", "compact"))
		}
		return
	}
	if policy != "delete" {
		f.fail(about, fmt.Sprintf("cleanup.policy is %s: the key is the company, so one record of each is kept", policy),
			set("cleanup.policy", "delete"))
	}
	if !slices.Contains(wire.Processed, topic.Name) {
		return
	}
	retention := number("retention.ms")
	if retention >= 0 && retention < shortRetention {
		f.fail(about, fmt.Sprintf("retention.ms is %d, %s: records that a stopped processor has not read are removed", retention,
			time.Duration(retention)*time.Millisecond),
			set("retention.ms", strconv.FormatInt(longPersonal, 10))+" or more: longer than any outage of the processors")
	}
	if topic.Name != wire.TopicEvents && !e.demo && (retention > longPersonal || retention == -1) {
		f.warn(about, "retention.ms keeps orders' personal fields longer than 7 days",
			"lower it if nothing demands that: "+set("retention.ms", strconv.FormatInt(longPersonal, 10)))
	}
	if n := number("retention.bytes"); n >= 0 {
		f.fail(about, fmt.Sprintf("retention.bytes is %d: records are removed by size, however new they are", n), set("retention.bytes", "-1"))
	}
}

// errSeen ends the reading of the directory.
var errSeen = errors.New("read to the end")

// checkSecret compares the hashing secret with the check values of the companies
// in the directory.
func (e *examination) checkSecret(ctx context.Context, f *findings, client *kafka.Client) {
	const about = "hashing secret"
	if e.hasher == nil {
		f.leftOut(about, "no --hashing-secret-file is given")
		return
	}
	companies := map[string]bool{} // whether the secret fits
	rotating := map[string]bool{}  // of which admin has a former secret
	err := readDirectory(ctx, client, func(key string, value []byte) {
		id, found := strings.CutPrefix(key, wire.CompanyKeyPrefix)
		if !found {
			return
		}
		var c wire.Company
		if len(value) == 0 || json.Unmarshal(value, &c) != nil {
			delete(companies, id)
			return
		}
		if rotating[id] = true; c.FormerKeyCheck == "" {
			delete(rotating, id)
		}
		companies[id] = e.hasher.Fits(id, c.KeyCheck, c.FormerKeyCheck)
	})
	if err != nil {
		f.fail(about, err.Error(), "see what is said of "+wire.TopicDirectory)
		return
	}
	var wrong []string
	for id, fits := range companies {
		if !fits {
			wrong = append(wrong, id)
		}
	}
	switch {
	case len(companies) == 0:
		f.leftOut(about, "the directory holds no company yet")
	case len(wrong) > 0:
		f.fail(about, fmt.Sprintf("is not the one that the keys of %d of %d companies are made with, such as %s", len(wrong),
			len(companies), wrong[0]),
			"give edge and admin the secret that the companies were made with; with another one, new events do not join old ones")
	default:
		text := fmt.Sprintf("fits all %d companies", len(companies))
		if len(rotating) > 0 {
			text += "; admin takes a former one's keys too: a rotation lasts"
		}
		f.ok(about, text)
	}
}
