package merchant_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/wire"
)

// naming registers, renames, archives and restores influencers by their names.
type naming struct {
	t      *testing.T
	db     *merchant.Store
	author commerce.Author
}

func newNaming(t *testing.T) naming {
	t.Helper()
	db, store, _ := newStore(t)
	return naming{t, db, commerce.Author{CompanyID: store.Live.CompanyID, Actor: "cli", At: time.Now()}}
}

func (n naming) register(name string) (id string, err error) {
	made, err := n.db.RegisterInfluencer(n.t.Context(), n.author,
		commerce.Registration{Name: name, Links: []string{"https://loja.example.com/"}}, rand.Reader)
	return made.InfluencerID, err
}

func (n naming) rename(from, to string) error {
	return n.db.UpdateInfluencer(n.t.Context(), n.author, from, commerce.InfluencerChange{Name: to})
}

func (n naming) archive(name string) error {
	_, err := n.db.ArchiveInfluencer(n.t.Context(), n.author, name, "")
	return err
}

func (n naming) restore(id string) error {
	_, err := n.db.RestoreInfluencer(n.t.Context(), n.author, id, "")
	return err
}

// must ends the test on an error.
func (n naming) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

// want tells whether an id is that of a name.
func (n naming) want(name, id string) {
	n.t.Helper()
	if got, err := n.db.InfluencerID(n.t.Context(), n.author.CompanyID, name); err != nil || got != id {
		n.t.Errorf("%q is %s, want %s, %v", name, got, id, err)
	}
}

// taken tells whether a change was refused for the name of an influencer.
func (n naming) taken(err error, influencer string) {
	n.t.Helper()
	var taken *commerce.NameTakenError
	if !errors.As(err, &taken) || taken.Influencer != influencer {
		n.t.Errorf("%v, want a name that is %s's", err, influencer)
	}
}

// A name that was given up is reserved for ever: nobody else gets it by a rename, a registration or a restore, also not
// written in another way, and not after its owner is archived.
func TestAFormerNameIsNobodyElses(t *testing.T) {
	t.Parallel()
	n := newNaming(t)
	ana, err := n.register("Ana Prádo")
	n.must(err)
	bia, err := n.register("Bia")
	n.must(err)
	n.must(n.rename("ana prado", "Ana Lima"))
	for _, name := range []string{"Ana Prádo", "ANA  PRADO", "Ana Pra\u0301do", "ａｎａ prado", "Ana\u200b Prado"} {
		n.taken(n.rename("Bia", name), "Ana Lima")
		n.want(name, ana)
		added, err := n.register(name)
		if err != nil || added != ana {
			t.Errorf("registered as %q: %s, %v", name, added, err)
		}
	}
	n.taken(n.rename("Bia", "ana lima"), "Ana Lima")
	n.must(n.archive("Ana Prado")) // by its former name too
	_, err = n.register("Ana Prado")
	n.taken(err, "Ana Lima")
	n.taken(n.rename("Bia", "Ana Prado"), "Ana Lima")
	n.taken(n.rename("Bia", "Ana Lima"), "Ana Lima") // archived: its visits stay its own
	other, err := n.register("Ana Lima")
	if n.must(err); other == ana {
		t.Error("an archived influencer came back by a registration")
	}
	n.taken(n.restore(ana), "Ana Lima")
	n.must(n.rename("Ana Lima", "Carla"))
	n.taken(n.restore(ana), "Carla") // reserved by the other for ever
	n.want("Ana Prado", ana)
	n.want("Bia", bia)
	if err := n.rename("nobody", "X"); !errors.Is(err, commerce.ErrNotFound) {
		t.Errorf("an unknown name: %v", err)
	}
}

// A name that was one's own comes back to one, and its case alone may change.
func TestARenameIsTakenBack(t *testing.T) {
	t.Parallel()
	n := newNaming(t)
	first, err := n.register("Ana")
	n.must(err)
	n.must(n.archive("Ana"))
	ana, err := n.register("ana") // another person of the same name
	n.must(err)
	n.must(n.rename("ana", "ANA"))
	n.must(n.rename("Ana", "Bia"))
	n.must(n.rename("Bia", "Ana"))
	n.must(n.rename("Bia", "Ana")) // again: it changes nothing
	i, err := n.db.Influencer(t.Context(), n.author.CompanyID, ana)
	if err != nil || i.Name != "Ana" || !slices.Equal(i.FormerNames, []string{"ana", "Bia"}) {
		t.Errorf("%q was %q, %v", i.Name, i.FormerNames, err)
	}
	n.taken(n.restore(first), "Ana")
	for k := range commerce.MaxNames - 2 {
		n.must(n.rename("Ana", fmt.Sprint("Name ", k)))
	}
	if err := n.rename("Ana", "One more"); !errors.Is(err, commerce.ErrTooManyNames) {
		t.Errorf("one name too many: %v", err)
	}
	n.must(n.rename("Bia", "Ana"))
	log, err := n.db.AuditLog(t.Context(), n.author.CompanyID, "", "influencer.rename", 1)
	if err != nil || len(log) != 1 || log[0].Subject != ana || !strings.Contains(log[0].Detail, `"from": "Name 17"`) ||
		!strings.Contains(log[0].Detail, `"to": "Ana"`) {
		t.Errorf("%+v, %v", log, err)
	}
}

// Of two renames to one name at the same time one is refused.
func TestTwoRenamesToOneNameAtOnce(t *testing.T) {
	t.Parallel()
	n := newNaming(t)
	const many = 6
	for k := range many {
		_, err := n.register(fmt.Sprint("Influencer ", k))
		n.must(err)
	}
	var wait sync.WaitGroup
	errs := make([]error, many)
	for k := range many {
		wait.Go(func() { errs[k] = n.rename(fmt.Sprint("Influencer ", k), "Ana") })
	}
	wait.Wait()
	refused := 0
	for k, err := range errs {
		if errors.As(err, new(*commerce.NameTakenError)) {
			refused++
		} else if err != nil {
			t.Errorf("rename %d: %v", k, err)
		}
	}
	list, err := n.db.Influencers(t.Context(), n.author.CompanyID, commerce.InfluencerCursor{}, 10)
	named := slices.DeleteFunc(list, func(i commerce.Influencer) bool { return i.Name != "Ana" })
	if err != nil || refused != many-1 || len(named) != 1 {
		t.Errorf("%d refused, %d are called Ana, %v", refused, len(named), err)
	}
}

// The directory has the new name of each live link, and the former ones with it: at once, in links that are made later, and
// where it is published as a whole.
func TestTheDirectoryHasAllNames(t *testing.T) {
	t.Parallel()
	n := newNaming(t)
	_, err := n.register("Ana")
	n.must(err)
	relay, err := n.db.AcquireRelay(t.Context())
	n.must(err)
	t.Cleanup(relay.Close)
	told := func() map[string]wire.Link {
		links := map[string]wire.Link{}
		batch, err := relay.Pending(t.Context(), 100)
		n.must(err)
		ids := make([]int64, len(batch))
		for i, r := range batch {
			ids[i] = r.ID
			put(t, links, r)
		}
		n.must(relay.Published(t.Context(), ids))
		return links
	}
	told()
	n.must(n.rename("Ana", "Bia"))
	renamed := told()
	_, err = n.register("Ana")
	n.must(err)
	added, whole := told(), map[string]wire.Link{}
	n.must(n.db.Directory(t.Context(), func(page []account.OutboxRecord) error {
		for _, r := range page {
			put(t, whole, r)
		}
		return nil
	}))
	if len(renamed) != 1 || len(added) != 1 || len(whole) != 2 {
		t.Fatalf("%v, %v, %v", renamed, added, whole)
	}
	for _, links := range []map[string]wire.Link{renamed, added, whole} {
		for _, l := range links {
			if l.Influencer != "Bia" || !slices.Equal(l.Former, []string{"Ana"}) {
				t.Errorf("%+v", l)
			}
		}
	}
	known, err := n.db.KnownNames(t.Context(), n.author.CompanyID, []string{"ana", "bia", "carla"})
	if slices.Sort(known); err != nil || !slices.Equal(known, []string{"ana", "bia"}) {
		t.Errorf("%q, %v", known, err)
	}
}

// put adds the link of a directory record to links.
func put(t *testing.T, links map[string]wire.Link, r account.OutboxRecord) {
	t.Helper()
	if !strings.HasPrefix(r.Key, wire.LinkKeyPrefix) {
		return
	}
	var l wire.Link
	if err := json.Unmarshal(r.Value, &l); err != nil {
		t.Fatal(err)
	}
	links[r.Key] = l
}

// An import that names an influencer by a former name adds to it, in one transaction with its other lines.
func TestAnImportKnowsFormerNames(t *testing.T) {
	t.Parallel()
	n := newNaming(t)
	ana, err := n.register("Ana")
	n.must(err)
	_, err = n.register("Gone")
	n.must(err)
	n.must(n.rename("Ana", "Bia"))
	n.must(n.rename("Gone", "Away"))
	n.must(n.archive("Away"))
	var list []commerce.Registration
	for _, name := range []string{"ANA", "Bia", "gone", "Carla"} {
		list = append(list, commerce.Registration{Name: name, Coupons: []commerce.CouponTerms{{Code: "OF" + name}}})
	}
	became, err := n.db.RegisterAll(t.Context(), n.author, list, func([]commerce.Imported) bool { return true }, rand.Reader)
	if err != nil || became[0].Refused != nil || became[1].Refused != nil || became[3].Refused != nil {
		t.Fatalf("%+v, %v", became, err)
	}
	n.taken(became[2].Refused, "Away")
	i, err := n.db.Influencer(t.Context(), n.author.CompanyID, ana)
	if err != nil || i.Name != "Bia" || len(i.Coupons) != 2 {
		t.Errorf("%+v, %v", i, err)
	}
}
