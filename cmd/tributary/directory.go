package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/wire"
)

func newDirectory() *cobra.Command {
	return group("directory", "Compare directory.v1 with PostgreSQL, and remove from it what a restored database has not got",
		newDirectoryShow(), newDirectoryPrune())
}

// What is different of a key of the directory.
const (
	notInDatabase = "PostgreSQL does not have it"
	newerThanOurs = "is newer than PostgreSQL's"
	endedThere    = "has ended there, and is valid in PostgreSQL"
)

// endedKey is an API key that the directory ends sooner than PostgreSQL, and when.
type endedKey struct {
	companyID, keyID string
	at               time.Time
}

// difference is a key of directory.v1 whose record PostgreSQL cannot have published as it is now.
type difference struct {
	key   string
	what  string
	ended endedKey // where what is endedThere
}

// compareDirectory returns how directory.v1 differs from PostgreSQL, ordered by key. What only
// PostgreSQL has is left out: an admin publishes it.
//
// PostgreSQL has each change before the directory does. So any difference means that the
// database is older than it once was: that it was restored.
func compareDirectory(ctx context.Context, client *kafka.Client,
	db *postgres.DB) (list []difference, lost map[string]commerce.LostChanges, err error) {
	there, gone := map[string][]byte{}, map[string]bool{} // gone: API keys, by a tombstone
	lost = map[string]commerce.LostChanges{}
	if err := readDirectory(ctx, client, func(key string, value []byte) {
		if delete(there, key); len(value) > 0 && key != wire.InstallationKey {
			there[key] = value
		}
		if strings.HasPrefix(key, wire.APIKeyPrefix) {
			gone[key] = len(value) == 0
		}
	}); err != nil {
		return nil, nil, err
	}
	// Read after the directory: what was published by then is in it.
	err = merchant.New(db).Directory(ctx, func(page []account.OutboxRecord) error {
		for _, r := range page {
			value, found := there[r.Key]
			if (found && strings.HasPrefix(r.Key, wire.APIKeyPrefix)) || gone[r.Key] {
				if ended, sooner := endedOnlyThere(value, r.Value); sooner {
					list = append(list, difference{r.Key, endedThere + ": " + ended.keyID + " of " + ended.companyID, ended})
				}
			}
			if !found {
				continue
			}
			delete(there, r.Key)
			var theirs, ours struct {
				Rev       int64  `json:"rev"`
				CompanyID string `json:"companyId"`
			}
			if r.Value == nil || json.Unmarshal(value, &theirs) != nil || json.Unmarshal(r.Value, &ours) != nil {
				continue // its end is published soon
			}
			if theirs.Rev > ours.Rev {
				all := lost[ours.CompanyID]
				all.Rev = max(all.Rev, theirs.Rev)
				if code, isLink := strings.CutPrefix(r.Key, wire.LinkKeyPrefix); isLink {
					all.Codes = append(all.Codes, code)
				}
				lost[ours.CompanyID] = all
			}
			if said := len(list) > 0 && list[len(list)-1].key == r.Key; theirs.Rev > ours.Rev && !said {
				list = append(list, difference{key: r.Key, what: newerThanOurs})
			}
		}
		return nil
	})
	for key := range there {
		list = append(list, difference{key: key, what: notInDatabase})
	}
	slices.SortFunc(list, func(a, b difference) int { return strings.Compare(a.key, b.key) })
	return list, lost, err
}

// blockPaying compares the directory with PostgreSQL, blocks paying in the companies whose changes are lost, and
// revokes the API keys that have ended in the directory: what is published next would let them work again.
func blockPaying(ctx context.Context, log *slog.Logger, client *kafka.Client, db *postgres.DB) error {
	id, owner, err := checkInstallation(ctx, client, db)
	if err != nil || owner.id != id {
		return err
	}
	list, lost, err := compareDirectory(ctx, client, db)
	if err != nil {
		return err
	}
	for _, d := range list[:min(mostNamed, len(list))] {
		log.Error("the database was restored from a backup: see Backup and restore in docs/operations.md", "key", d.key, "difference", d.what,
			"differences", len(list))
	}
	marked, err := merchant.New(db).MarkRestored(ctx, lost)
	if len(marked) > 0 {
		log.Error("paying is blocked until an owner confirms", "companies", len(marked), "first", marked[0])
	}
	if err != nil {
		return err
	}
	return revokeEnded(ctx, merchant.New(db), list, func(k endedKey) {
		log.Error("an API key that had ended before the restore is revoked again", "key", k.keyID, "company", k.companyID, "ends", k.at)
	})
}

// revokeEnded revokes the keys that the directory ends sooner than PostgreSQL, and says each.
func revokeEnded(ctx context.Context, db *merchant.Store, list []difference, say func(endedKey)) error {
	for _, d := range list {
		if d.ended.keyID == "" {
			continue
		}
		if _, err := db.RevokeAPIKey(ctx, d.ended.companyID, d.ended.keyID, d.ended.at, actor); err != nil {
			return err
		}
		say(d.ended)
	}
	return nil
}

// endedOnlyThere is an API key that is valid in PostgreSQL, and ends sooner by the directory's record; no record, which is a
// tombstone, ended it already.
func endedOnlyThere(theirs, ours []byte) (ended endedKey, sooner bool) {
	var a, b wire.APIKey
	now := time.Now()
	if json.Unmarshal(ours, &b) != nil || !b.ActiveAt(now) {
		return endedKey{}, false
	}
	at := now
	if len(theirs) > 0 {
		if json.Unmarshal(theirs, &a) != nil {
			return endedKey{}, false
		}
		end := a.RevokedAt
		if end == nil || a.ExpiresAt != nil && a.ExpiresAt.Before(*end) {
			end = a.ExpiresAt
		}
		if end == nil {
			return endedKey{}, false
		}
		at = *end
	}
	return endedKey{b.CompanyID, b.KeyID, at}, b.ActiveAt(at)
}

// directoryFlags are those of both commands.
type directoryFlags struct{ repairFlags }

// run connects to both and compares them. Topics of another installation are an error, and so
// are those that name none.
func (f *directoryFlags) run(cmd *cobra.Command,
	do func(client *kafka.Client, db stores, list []difference, lost map[string]commerce.LostChanges) error) error {
	return f.connect(cmd.Context(), "tributary-directory", func(db stores, client *kafka.Client) error {
		id, owner, err := checkInstallation(cmd.Context(), client, db.db)
		if err == nil && owner.id != id {
			err = fmt.Errorf("%s does not name its installation: %s", client.Named(wire.TopicDirectory), runMigrate)
		}
		if err != nil {
			return err
		}
		list, lost, err := compareDirectory(cmd.Context(), client, db.db)
		if err != nil {
			return err
		}
		return do(client, db, list, lost)
	})
}

func newDirectoryShow() *cobra.Command {
	var flags directoryFlags
	var how listing
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show what directory.v1 has that PostgreSQL has not, or has older",
		Long: `Show which companies, short links and API keys are in directory.v1 and not in
PostgreSQL, or newer there. PostgreSQL has each change first, so anything that is
shown means that the database was restored from a backup. Nothing is changed.`,
		Example: `  tributary directory show`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return flags.run(cmd, func(_ *kafka.Client, _ stores, list []difference, _ map[string]commerce.LostChanges) error {
				return writeList(cmd.OutOrStdout(), how, []column[difference]{
					{"key", "KEY", func(d *difference) any { return d.key }},
					{"difference", "DIFFERENCE", func(d *difference) any { return d.what }},
				}, list)
			})
		},
	}
	flags.register(cmd)
	how.register(cmd)
	return cmd
}

func newDirectoryPrune() *cobra.Command {
	var flags directoryFlags
	var yes bool
	var report reportFlag
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove from directory.v1 what PostgreSQL does not have, after a restore",
		Long: `Remove from directory.v1 the companies, short links and API keys that PostgreSQL does
not have, each by its name. Edges refuse their events and open their links no more
within seconds. It does so only where the directory is of the same installation as
the database. It says what it will do and asks. Before that it blocks paying in the
companies of which changes are lost, and revokes the API keys that have ended in the
directory, as an admin does at its start: see "Backup and restore" in
docs/operations.md.`,
		Example: `  tributary directory prune`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return flags.run(cmd, func(client *kafka.Client, db stores, list []difference, lost map[string]commerce.LostChanges) error {
				return pruneDirectory(cmd, client, db, list, lost, yes, report)
			})
		},
	}
	report.register(cmd, pruneReport{[]string{"c_…"}, []string{"key_…"}, []string{wire.CompanyKeyPrefix + "c_…"}})
	flags.register(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// pruneReport is what a restore lost and prune mended, as JSON.
type pruneReport struct {
	Blocked []string `json:"blocked_companies"` // where paying is blocked until an owner confirms
	Revoked []string `json:"revoked_keys"`      // ids of API keys
	Removed []string `json:"removed"`           // keys of the directory
}

// pruneDirectory does and says it. Where something fails, the JSON has what was done before it.
func pruneDirectory(cmd *cobra.Command, client *kafka.Client, db stores, list []difference, lost map[string]commerce.LostChanges, yes bool,
	report reportFlag) (err error) {
	done := pruneReport{[]string{}, []string{}, []string{}}
	defer func() { err = errors.Join(err, report.write(cmd, done)) }()
	text := report.text(cmd)
	marked, err := db.MarkRestored(cmd.Context(), lost)
	for _, id := range marked {
		fmt.Fprintf(text, "Changes of %s are lost: paying is blocked until an owner confirms.\n", id)
	}
	done.Blocked = append(done.Blocked, marked...)
	if err != nil {
		return err
	}
	err = revokeEnded(cmd.Context(), db.Store, list, func(k endedKey) {
		fmt.Fprintf(text, "%s of %s had ended: it is revoked again.\n", k.keyID, k.companyID)
		done.Revoked = append(done.Revoked, k.keyID)
	})
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(d difference) bool { return d.what != notInDatabase })
	if len(list) == 0 {
		fmt.Fprintln(text, "The directory has nothing that PostgreSQL does not have: nothing was removed.")
		return nil
	}
	for _, d := range list {
		fmt.Fprintln(cmd.ErrOrStderr(), d.key)
	}
	if !yes {
		if err := askYes(cmd,
			fmt.Sprintf("%d keys would be removed from %s, and edges would not know them any more", len(list), client.Named(wire.TopicDirectory)),
			"Type yes to remove: "); err != nil {
			return err
		}
	}
	producer := kafka.NewProducer(client)
	for i, d := range list {
		if err := producer.Produce(cmd.Context(), wire.TopicDirectory, kafka.Record{Key: []byte(d.key)}); err != nil {
			return fmt.Errorf("%d of %d keys were removed: %w", i, len(list), err)
		}
		done.Removed = append(done.Removed, d.key)
	}
	fmt.Fprintf(text, "%d keys were removed.\n", len(list))
	return nil
}
