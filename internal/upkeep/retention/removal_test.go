package retention

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/facts"
)

// fake is a Store with so many orders to snapshot, and pages of events that are full until they are short.
type fake struct {
	Store
	old, late, pages int
	did              []string
}

func (f *fake) take(n *int) []facts.SnapshotCandidate {
	if *n == 0 {
		return nil
	}
	*n--
	return []facts.SnapshotCandidate{{OrderID: "o"}}
}

func (f *fake) WithoutSnapshot(context.Context, string, []facts.Span, facts.SnapshotCandidate, int) ([]facts.SnapshotCandidate, error) {
	return f.take(&f.old), nil
}

func (f *fake) WithoutSnapshotSince(context.Context, string, []facts.Span, time.Time, int) ([]facts.SnapshotCandidate, error) {
	return f.take(&f.late), nil
}

func (f *fake) BeginRemoval(context.Context, string, time.Time, string) error {
	f.did = append(f.did, "begin")
	return nil
}

func (f *fake) RemoveEvents(
	_ context.Context, _ string, after uuid.UUID, end, _ time.Time, limit int,
) (uuid.UUID, []string, int, int, error) {
	f.did = append(f.did, "events until "+end.Format(time.DateOnly))
	if f.pages--; f.pages < 0 {
		return after, nil, 0, 0, nil
	}
	return after, nil, limit, limit, nil
}

func (f *fake) RemoveObservations(context.Context, string, []string, time.Time) (int, error) {
	return 0, nil
}

func (f *fake) RemoveShoppers(context.Context, string, string, int) (int, error) {
	f.did = append(f.did, "shoppers")
	return 0, nil
}

func (f *fake) EndRemoval(context.Context, string, time.Time, time.Time) error {
	f.did = append(f.did, "end")
	return nil
}

var errStopped = errors.New("stopped")

// run removes what is old; the transactions from the one of that number on fail.
func run(t *testing.T, f *fake, fails int) (Removed, error) {
	t.Helper()
	settings := facts.Settings{Window: 30 * 24 * time.Hour}
	index := attribution.NewIndex(&facts.Rules{CompanyID: "c", Location: time.UTC, RetentionDays: 90, Settings: settings})
	r := New(index, Progress{CompanyID: "c"}, time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC), 20)
	return r.Run(t.Context(), func(step func(ctx context.Context, t *Turn) error) error {
		if fails--; fails == 0 {
			return errStopped
		}
		return step(t.Context(), &Turn{Store: f, Index: index, Snapshot: func(_ context.Context, list []facts.SnapshotCandidate) (int, error) {
			f.did = append(f.did, "snapshot")
			return len(list), nil
		}})
	}, nil)
}

// No event goes before the orders that read it are snapshotted: those of before, and those that came since.
func TestOrdersHaveSnapshotsBeforeEventsGo(t *testing.T) {
	t.Parallel()
	f := &fake{old: 2, late: 1, pages: 1}
	sum, err := run(t, f, -1)
	want := []string{
		"snapshot", "snapshot", "begin", "snapshot", "events until 2026-03-03", "events until 2026-03-03",
		"events until " + facts.NoLaterID.Format(time.DateOnly), "shoppers", "end",
	}
	if err != nil || !slices.Equal(f.did, want) || sum != (Removed{Snapshots: 3, Events: 20}) {
		t.Errorf("%v, %+v: %v", f.did, sum, err)
	}
}

// A transaction that fails ends the removal; what those before it did is told.
func TestARemovalEndsWhereATransactionFails(t *testing.T) {
	t.Parallel()
	f := &fake{old: 1, pages: 2}
	sum, err := run(t, f, 4)
	want := []string{"snapshot", "begin", "events until 2026-03-03"}
	if !errors.Is(err, errStopped) || !slices.Equal(f.did, want) || sum != (Removed{Snapshots: 1, Events: 20}) {
		t.Errorf("%v, %+v: %v", f.did, sum, err)
	}
}

// A company without a retention keeps its events.
func TestACompanyWithoutARetentionKeepsItsEvents(t *testing.T) {
	t.Parallel()
	index := attribution.NewIndex(&facts.Rules{CompanyID: "c", Location: time.UTC})
	if r := New(index, Progress{CompanyID: "c"}, time.Now(), 20); r != nil {
		t.Errorf("events before %s are removed", r.From())
	}
}
