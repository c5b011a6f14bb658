package report

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/models"
	"github.com/tributary-io/tributary/internal/reports"
)

// Weights are those of the tally each time, and so many are remembered at most.
func TestRememberedWeightsAreThoseOfTheirTally(t *testing.T) {
	t.Parallel()
	known := newRemembered()
	for n := range 3 * maxRemembered / 500 {
		tally := models.NewTally(models.Shapley)
		var channels []int32
		for c := range int32(500) {
			channels = append(channels, c)
			tally.Add([]int32{c}, int64(n+1), int64(c), nil)
		}
		for range 2 {
			got, err := known.weightsOf(t.Context(), tally, channels)
			if want := tally.Weights(channels); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("tally %d: %v, %v, want %v", n, got, err, want)
			}
		}
		if known.channels > maxRemembered || len(known.weights) != len(known.order) || known.channels != 500*len(known.order) {
			t.Fatalf("%d weights of %d channels are remembered, %d in order", len(known.weights), known.channels, len(known.order))
		}
	}
	if known.channels < maxRemembered-500 {
		t.Errorf("weights of %d channels are remembered, of %d", known.channels, maxRemembered)
	}
}

// The end of the time for reading is not the end of computing; that nobody waits any more is.
func TestWhatIsComputedIsNotLostWhenReadingTookLong(t *testing.T) {
	t.Parallel()
	f := func(name string, ctx context.Context, want error) {
		t.Helper()
		q := reports.Query{Name: reports.Channels, Start: "2026-03-01", End: "2026-03-31", Model: models.Markov}.WithDefaults("BRL")
		r := &reading{query: q, Builder: reports.NewBuilder(q), later: func(ctx context.Context) error {
			if want != nil {
				<-ctx.Done()
			}
			return ctx.Err()
		}}
		if report, err := finish(ctx, r, nil); !errors.Is(err, want) || (report == nil) != (want != nil) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	late, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	f("reading's time is over", late, nil)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	f("the client has gone", gone, context.Canceled)
}

// At most so many periods are computed at once as there are cores, and one that others have computed
// meanwhile is not computed again.
func TestPeriodsWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	known := newRemembered()
	tally := models.NewTally(models.Shapley)
	tally.Add([]int32{0, 1}, 1, 1, nil)
	for range cap(known.computing) {
		known.computing <- struct{}{}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := known.weightsOf(gone, tally, []int32{0, 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("without a turn: %v", err)
	}
	made := models.Weights{Conversions: []*big.Int{big.NewInt(7)}}
	known.weights[tally.Digest([]int32{0, 1})] = made
	if w, err := known.weightsOf(gone, tally, []int32{0, 1}); err != nil || fmt.Sprint(w) != fmt.Sprint(made) {
		t.Errorf("one that is known: %v, %v", w, err)
	}
}

func TestMarkovIsRefusedWhereItsPeriodsHaveMoreThanIsRemembered(t *testing.T) {
	t.Parallel()
	f := func(model string, periods int, want error) {
		t.Helper()
		p := &pathReader{model: model}
		for i := range int32(400) {
			p.names = append(p.names, fmt.Sprint(i))
		}
		p.tallies = make([]*models.Tally, periods)
		for i := range p.tallies {
			for c := range int32(400) {
				p.tally(i).Add([]int32{c}, 1, 1, nil)
			}
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.credits(cancelled, newRemembered()); errors.Is(err, reports.ErrTooManyChannels) != (want != nil) {
			t.Errorf("%s, %d periods: %v", model, periods, err)
		}
	}
	f(models.Markov, 200, nil)
	f(models.Markov, 201, reports.ErrTooManyChannels)
	f(models.Shapley, 201, nil)
}
