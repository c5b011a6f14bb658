package ledger

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/facts"
)

func line(cost string, minor int64, currency string) facts.Line {
	return facts.Line{InfluencerID: "i", CampaignID: "c", CostID: cost, AmountMinor: minor, Currency: currency}
}

func TestPost(t *testing.T) {
	var stored []Entry
	f := func(want string, wanted ...facts.Line) {
		t.Helper()
		posts := Post(stored, wanted)
		var got []string
		for _, e := range posts {
			got = append(got, fmt.Sprintf("%d %s %s %d %s/%d", e.Number, e.Kind, e.CostID, e.AmountMinor, e.Currency, e.Reverses))
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("posted %s\n  want %s", text, want)
		}
		stored = append(stored, posts...)
	}
	f("")
	f("1 earned a 100 BRL/0, 2 earned b 5 BRL/0", line("a", 100, "BRL"), line("b", 5, "BRL"))
	f("", line("b", 5, "BRL"), line("a", 100, "BRL")) // the order of lines says nothing
	f("3 reversed a -100 BRL/1, 4 adjusted a 90 BRL/0", line("a", 90, "BRL"), line("b", 5, "BRL"))
	f("5 reversed b -5 BRL/2, 6 reversed a -90 BRL/4")
	f("7 earned a 90 BRL/0, 8 earned a 90 BRL/0", line("a", 90, "BRL"), line("a", 90, "BRL")) // the same line twice is owed twice
	f("9 reversed a -90 BRL/8", line("a", 90, "BRL"))
	f("10 reversed a -90 BRL/7, 11 adjusted a 90 USD/0, 12 earned c 1 BRL/0", line("a", 90, "USD"), line("c", 1, "BRL"))
}

func TestOwedAreTheEntriesThatNoneTakesBackByNumber(t *testing.T) {
	f := func(want string, entries ...Entry) {
		t.Helper()
		var got []string
		for _, e := range Owed(entries) {
			got = append(got, fmt.Sprint(e.Number))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%v: owed %q, want %q", entries, text, want)
		}
	}
	earned := func(number int) Entry { return Entry{Number: number, Kind: Earned} }
	adjusted := func(number int) Entry { return Entry{Number: number, Kind: Adjusted} }
	reversed := func(number, of int) Entry { return Entry{Number: number, Kind: Reversed, Reverses: of} }
	f("")
	f("1", earned(1))
	f("1 2 3", earned(1), earned(2), earned(3))
	f("1 2 3", earned(3), earned(1), earned(2))
	f("1 2 10", earned(10), earned(2), earned(1))
	f("", reversed(2, 1), earned(1))
	f("2 4", adjusted(4), reversed(3, 1), earned(2), earned(1))
}

// docs/attribution.md, "Payout": what holds no more is taken back first, then
// the new amounts are posted. The order in which the store gives its entries
// says nothing.
func TestPostsDoNotDependOnTheOrderOfStoredEntries(t *testing.T) {
	stored := Post(nil, []facts.Line{line("a", 100, "BRL"), line("b", 5, "BRL"), line("c", 7, "BRL")})
	stored = append(stored, Post(stored, []facts.Line{line("a", 90, "BRL"), line("c", 7, "BRL"), line("d", 1, "USD")})...)
	wanted := []facts.Line{line("d", 2, "USD")}
	want := Post(stored, wanted)
	if len(want) != 4 {
		t.Fatalf("posted %v, want three entries taken back and one in their place", want)
	}
	for seed := range uint64(50) {
		shuffled := slices.Clone(stored)
		r := rand.New(rand.NewPCG(seed, 0))
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if got := Post(shuffled, wanted); !slices.Equal(got, want) {
			t.Fatalf("seed %d: posted %v, want %v", seed, got, want)
		}
	}
}

func TestPostLeavesItsArgumentsAlone(t *testing.T) {
	stored := Post(nil, []facts.Line{line("a", 1, "BRL"), line("b", 2, "BRL")})
	wanted := []facts.Line{line("b", 2, "BRL"), line("c", 3, "BRL")}
	storedBefore, wantedBefore := slices.Clone(stored), slices.Clone(wanted)
	Post(stored, wanted)
	if !slices.Equal(stored, storedBefore) || !slices.Equal(wanted, wantedBefore) {
		t.Errorf("stored %v, wanted %v", stored, wanted)
	}
}

// Over any history of one order: approved, pending or cancelled, refunds, costs that
// come and go, holds that become shorter or longer. On every day the sum of the entries
// that may be paid by then is what the order owes, if it may be paid by then, and else
// nothing; so nothing is paid twice, and never is more taken back than was earned.
func TestWhatMayBePaidIsTheSumOfTheEntriesPastTheirHold(t *testing.T) {
	day := func(n int) string { return fmt.Sprintf("2026-03-%02d", n) }
	paid := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		var entries []Entry
		for range 25 {
			var wanted []facts.Line
			hold := day(1 + r.IntN(28))
			if r.IntN(4) > 0 { // else it is not approved
				for cost := range 1 + r.IntN(3) {
					l := line(fmt.Sprint("cost", cost), 1+r.Int64N(1000), "BRL")
					l.PayableOn = hold
					wanted = append(wanted, l)
				}
			}
			entries = append(entries, Post(entries, wanted)...)
			check(t, seed, entries, wanted)
			var owed int64
			for _, l := range wanted {
				owed += l.AmountMinor
			}
			for n := 1; n <= 28; n++ {
				var payable, earned, taken int64
				for _, e := range entries {
					if e.PayableOn > day(n) {
						continue
					}
					payable += e.AmountMinor
					if e.AmountMinor > 0 {
						earned += e.AmountMinor
					} else {
						taken -= e.AmountMinor
					}
				}
				want := owed
				if len(wanted) == 0 || hold > day(n) {
					want = 0
				}
				if payable != want || taken > earned {
					t.Fatalf("seed %d: %d may be paid by %s, want %d; %d was earned and %d taken back", seed, payable, day(n), want, earned, taken)
				}
				paid += int(want)
			}
		}
	}
	if paid == 0 {
		t.Error("nothing was ever payable")
	}
}

// Over any history of what is owed: the entries' net is what is owed now, no
// entry is taken back twice or more than in full, numbers rise by one, and
// posting the same again posts nothing.
func TestTheLedgerAlwaysNetsToWhatIsOwed(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		var entries []Entry
		for range 20 {
			var wanted []facts.Line
			for range r.IntN(4) {
				wanted = append(wanted, line(fmt.Sprint("cost", r.IntN(3)), r.Int64N(7)-3, []string{"BRL", "USD"}[r.IntN(2)]))
			}
			entries = append(entries, Post(entries, wanted)...)
			if again := Post(entries, wanted); len(again) != 0 {
				t.Fatalf("seed %d: posting the same again posts %v", seed, again)
			}
			r.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
			check(t, seed, entries, wanted)
		}
	}
}

func check(t *testing.T, seed uint64, entries []Entry, wanted []facts.Line) {
	t.Helper()
	byNumber := map[int]Entry{}
	net := map[facts.Line]int64{} // by all but the amount
	for _, e := range entries {
		if _, twice := byNumber[e.Number]; twice || e.Number < 1 || e.Number > len(entries) {
			t.Fatalf("seed %d: number %d among %d entries", seed, e.Number, len(entries))
		}
		byNumber[e.Number] = e
		where := e.Line
		where.AmountMinor = 0
		net[where] += e.AmountMinor
	}
	takenBack := map[int]bool{}
	for _, e := range entries {
		if (e.Kind == Reversed) != (e.Reverses != 0) {
			t.Fatalf("seed %d: %v", seed, e)
		}
		if e.Reverses == 0 {
			continue
		}
		old := byNumber[e.Reverses]
		old.AmountMinor = -old.AmountMinor
		if takenBack[e.Reverses] || old.Line != e.Line || old.Kind == Reversed || e.Reverses >= e.Number {
			t.Fatalf("seed %d: %v takes back %v", seed, e, byNumber[e.Reverses])
		}
		takenBack[e.Reverses] = true
	}
	want := map[facts.Line]int64{}
	for _, l := range wanted {
		where := l
		where.AmountMinor = 0
		want[where] += l.AmountMinor
	}
	for where, minor := range net {
		if want[where] != minor {
			t.Fatalf("seed %d: %v nets to %d, %d is owed", seed, where, minor, want[where])
		}
	}
	var owed []facts.Line
	for _, e := range Owed(entries) {
		owed = append(owed, e.Line)
	}
	for _, l := range wanted {
		i := slices.Index(owed, l)
		if i < 0 {
			t.Fatalf("seed %d: %v is not owed", seed, l)
		}
		owed = slices.Delete(owed, i, i+1)
	}
	if len(owed) > 0 {
		t.Fatalf("seed %d: %v is owed and not wanted", seed, owed)
	}
}
