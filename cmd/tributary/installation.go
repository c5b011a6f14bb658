package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/wire"
)

// errOtherInstallation means that the topics belong to another installation.
var errOtherInstallation = errors.New("these topics belong to another installation")

// errOtherKafka means that the database belongs to another Kafka cluster; it is an errOtherInstallation too.
var errOtherKafka = fmt.Errorf("%w: the database is of another Kafka", errOtherInstallation)

// mostAsked bounds the companies of the directory that the database is asked for.
const mostAsked = 1000

// topicsOwner is what the directory says of whose topics they are.
type topicsOwner struct {
	id        string   // of the installation; empty: the directory has none
	companies []string // mostAsked at most
}

// readDirectory calls handle with each record of directory.v1 as it stands now.
func readDirectory(ctx context.Context, client *kafka.Client, handle func(key string, value []byte)) error {
	reading, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	err := client.Follow(reading, wire.TopicDirectory, 0, kafka.FromFirst, func(_ int64, r kafka.Record) error {
		handle(string(r.Key), r.Value)
		return nil
	}, func() { stop(errSeen) })
	if !errors.Is(context.Cause(reading), errSeen) {
		return fmt.Errorf("the directory cannot be read: %w", err)
	}
	return nil
}

func ownerOf(ctx context.Context, client *kafka.Client) (owner topicsOwner, err error) {
	companies := map[string]bool{}
	err = readDirectory(ctx, client, func(key string, value []byte) {
		id, isCompany := strings.CutPrefix(key, wire.CompanyKeyPrefix)
		switch {
		case key == wire.InstallationKey:
			var i wire.Installation
			if json.Unmarshal(value, &i) == nil {
				owner.id = i.ID
			}
		case isCompany && len(value) == 0:
			delete(companies, id)
		case isCompany && len(companies) < mostAsked:
			companies[id] = true
		}
	})
	for id := range companies {
		owner.companies = append(owner.companies, id)
	}
	return owner, err
}

// installationOf returns the id of a database's installation. errOtherInstallation where its topics have another prefix,
// errOtherKafka where its offsets are of another cluster; newKafka: that cluster is lost.
func installationOf(ctx context.Context, client *kafka.Client, store *merchant.Store, newKafka bool) (id string, err error) {
	id, prefix, claimed, err := store.Installation(ctx)
	if err == nil && claimed && prefix != client.Named("") {
		err = fmt.Errorf("%w: --topic-prefix is %q, and those of the database begin with %q", errOtherInstallation, client.Named(""), prefix)
	}
	if err != nil || newKafka {
		return id, err
	}
	clusters, err := store.KafkaClusters(ctx)
	if err != nil || len(clusters) == 0 {
		return id, err
	}
	cluster, err := client.ClusterID(ctx)
	if err != nil {
		return id, err
	}
	for _, other := range clusters {
		if other != cluster {
			return id, fmt.Errorf("%w: its offsets are of the cluster %q, and this is %q: give the --kafka-brokers of that cluster, or the "+
				"--postgres of this one; where that cluster is lost for good: docs/operations.md, Kafka is lost", errOtherKafka, other, cluster)
		}
	}
	return id, nil
}

// checkInstallation returns errOtherInstallation where the directory belongs to another
// installation than the database, or the database to topics of another prefix or cluster. A directory that names none, since it
// was made anew, belongs to the database unless it has companies of which the database has none.
func checkInstallation(ctx context.Context, client *kafka.Client, db *postgres.DB) (id string, owner topicsOwner, err error) {
	return compareOwner(ctx, client, db, false)
}

func compareOwner(ctx context.Context, client *kafka.Client, db *postgres.DB, newKafka bool) (id string, owner topicsOwner, err error) {
	store := merchant.New(db)
	if id, err = installationOf(ctx, client, store, newKafka); err != nil {
		return id, owner, err
	}
	if owner, err = ownerOf(ctx, client); err != nil {
		return id, owner, err
	}
	const other = "give the --postgres of that installation, or another --topic-prefix (docs/operations.md, Several installations on " +
		"one Kafka)"
	switch {
	case owner.id != "" && owner.id != id:
		return id, owner, fmt.Errorf("%w: %s is of %s, and the database of %s: %s", errOtherInstallation,
			client.Named(wire.TopicDirectory), owner.id, id, other)
	case owner.id == "" && len(owner.companies) > 0:
		known, err := store.KnowsCompany(ctx, owner.companies)
		if err == nil && !known {
			err = fmt.Errorf("%w: %s has companies, such as %s, of which the database has none: %s", errOtherInstallation,
				client.Named(wire.TopicDirectory), owner.companies[0], other)
		}
		return id, owner, err
	}
	return id, owner, nil
}

// claimTopics writes the topics' prefix to the database and the installation's id to the directory, where they have none.
// newKafka is installationOf's.
func claimTopics(ctx context.Context, client *kafka.Client, db *postgres.DB, newKafka bool) error {
	id, owner, err := compareOwner(ctx, client, db, newKafka)
	if err != nil {
		return err
	}
	if err := merchant.New(db).ClaimTopics(ctx, client.Named("")); err != nil || owner.id == id {
		return err
	}
	value, err := json.Marshal(wire.Installation{V: 1, ID: id})
	if err != nil {
		return err
	}
	return kafka.NewProducer(client).Publish(ctx, wire.TopicDirectory, []byte(wire.InstallationKey), value)
}

// installationTimeout bounds one reading of the directory.
const installationTimeout = 30 * time.Second

// ownTopics waits until Kafka and PostgreSQL say that they belong together, or not
// (errOtherInstallation), or ctx ends (nil: nothing is known).
func ownTopics(ctx context.Context, log *slog.Logger, client *kafka.Client, db *postgres.DB) error {
	for {
		asked, cancel := context.WithTimeout(ctx, installationTimeout)
		_, _, err := checkInstallation(asked, client, db)
		cancel()
		if err == nil || errors.Is(err, errOtherInstallation) {
			return err
		}
		log.Warn("it is not known yet whether the topics are this installation's", "error", err)
		if !background.Sleep(ctx, time.Second) {
			return nil
		}
	}
}

// whereKafkaAnswers calls do where Kafka answers now; where it does not, the service starts and waits for it
// (startTimeout).
func whereKafkaAnswers(ctx context.Context, client *kafka.Client, do func(ctx context.Context) error) error {
	asked, cancel := context.WithTimeout(ctx, installationTimeout)
	defer cancel()
	short, stop := context.WithTimeout(asked, startTimeout)
	defer stop()
	if _, err := client.MissingTopics(short, wire.TopicDirectory); err != nil {
		return nil //nolint:nilerr // see above
	}
	return do(asked)
}

// refuseOtherTopics returns errOtherInstallation where Kafka and PostgreSQL say so now.
func refuseOtherTopics(ctx context.Context, client *kafka.Client, db *postgres.DB) error {
	err := whereKafkaAnswers(ctx, client, func(ctx context.Context) error {
		_, _, err := checkInstallation(ctx, client, db)
		return err
	})
	if errors.Is(err, errOtherInstallation) {
		return err
	}
	return nil
}

// watchOwner returns a context that ends with ctx, and also where the topics turn out to be another installation's: Kafka
// did not answer at the start. refused returns that reason, nil for any other end.
func watchOwner(ctx context.Context, log *slog.Logger, client *kafka.Client,
	db *postgres.DB) (watched context.Context, refused func() error) {
	watched, end := context.WithCancel(ctx)
	task := background.Start(ctx, log, "installation", func(ctx context.Context) error {
		err := ownTopics(ctx, log, client, db)
		if err != nil {
			end()
		}
		return err
	})
	return watched, func() error {
		end()
		return task.Stop()
	}
}

// ownLog is the group of an installation's processors: a processor of another one does not
// join it.
type ownLog struct {
	*kafka.Group
	check func(ctx context.Context) error
}

func (l ownLog) Consume(ctx context.Context, own func(ctx context.Context, partition int) error) error {
	if err := l.check(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	return l.Group.Consume(ctx, own)
}
