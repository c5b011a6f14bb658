package models

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestPathsAreDividedAsPublished(t *testing.T) {
	f := func(model, want string, lines ...string) {
		t.Helper()
		file := parse(t, lines...)
		w := OverPaths(model, file.paths, file.direct)
		if got := ratios(w.Conversions) + " | " + ratios(w.Value); got != want {
			t.Errorf("%s of %q:\n%s, want\n%s", model, lines, got, want)
		}
	}
	same := func(parts string) string { return parts + " | " + parts }

	// Removal effects ½, 1 and 1 of a probability of ⅓.
	published := []string{"C1 > C2 > C3: 1 5000 0", "C1: 0 0 1", "C2 > C3: 0 0 1"}
	f(Markov, same("0.200000000000 0.400000000000 0.400000000000"), published...)
	f(Shapley, same("0.333333333333 0.333333333333 0.333333333333"), published...)

	// v(a) = 1, v(b) = 2, v(ab) = 6: the Shapley values are 2.5 and 3.5.
	f(Shapley, "0.416666666667 0.583333333333 | 1.000000000000 0.000000000000", "a: 1 7 0", "b: 2 0 0", "a > b: 1 0 5", "b > a > b: 2 0 0")

	f(First, same("1.000000000000 0.000000000000"), "a > b > a: 1 9 0")
	f(Last, same("0.000000000000 1.000000000000"), "a > b: 1 9 0")
	f(LastNonDirect, same("1.000000000000 0.000000000000"), "a > direct > direct: 1 9 0")
	f(LastNonDirect, same("1.000000000000"), "direct > direct: 1 9 0")
	f(Last, same("0.000000000000 1.000000000000"), "a > direct: 1 9 0")
	f(Linear, same("0.666666666667 0.333333333333"), "a > direct > a: 1 9 0") // direct counts
	f(Position, same("0.500000000000 0.500000000000"), "a > direct > a > direct: 1 9 0", "a: 0 0 3")
	f(Position, same("0.400000000000 0.200000000000 0.400000000000"), "a > b > c: 1 9 0")
	f(Position, same("0.500000000000 0.500000000000"), "a > b: 1 9 0")
	f(Position, same("1.000000000000"), "a: 1 9 0")
	// Steps of one day by a half-life of seven.
	f(TimeDecay, same("0.475264951183 0.524735048817"), "a > b: 1 9 0")
	f(TimeDecay, same("0.086154047801 0.741537856598 0.172308095601"), "a > x > x > x > x > x > x > b: 1 9 0") // b weighs twice as much as a
}

func TestMarkovOfOddPaths(t *testing.T) {
	f := func(want string, lines ...string) {
		t.Helper()
		file := parse(t, lines...)
		w := OverPaths(Markov, file.paths, file.direct)
		if got := ratios(w.Conversions) + " | " + ratios(w.Value); got != want {
			t.Errorf("%q:\n%s, want\n%s", lines, got, want)
		}
	}
	f("1.000000000000 | 1.000000000000", "a: 1 5 0")
	f("1.000000000000 | 1.000000000000", "a > a > a: 1 5 7")
	f("0 | 0", "a: 0 0 1")
	f("0 0 | 0 0", "a > b: 0 0 9", "b: 0 0 1")
	f("0 0 | 0 0", "a > b: 0 0 0") // no journey at all
	f("1.000000000000 0.000000000000 | 1.000000000000 0.000000000000", "a: 3 5 0", "b: 0 0 9")
	f("1.000000000000 0.000000000000 | 0 0", "a: 3 0 0", "b: 0 0 9") // orders of no value
	// A channel that leads to nothing: after b nobody comes back.
	f("1.000000000000 0.000000000000 | 1.000000000000 0.000000000000", "a: 1 4 0", "a > b: 0 0 1")
	// Value has removal effects of its own: b leads to the dear orders.
	f("0.500000000000 0.500000000000 | 0.100000000000 0.900000000000", "a: 1 10 0", "b: 1 90 0")
	// Value without conversions is no step of the chain: it goes with the rest …
	f("0.500000000000 0.500000000000 | 0.100000000000 0.900000000000", "a: 1 10 0", "b: 1 90 0", "a: 0 900 0")
	f("0.500000000000 0.500000000000 | 0.100000000000 0.900000000000", "a: 1 10 0", "b: 1 90 0", "a: 0 900 5")
	// … and where there is no rest, as by linear.
	f("0 0 | 0.500000000000 0.500000000000", "a > b: 0 10 0")
	// A loop through another channel.
	f("0.500000000000 0.500000000000 | 0.500000000000 0.500000000000", "a > b > a > b > a > b: 1 10 0")
}

func TestRepeatingAChannelChangesNoRemovalEffect(t *testing.T) {
	once := parse(t, "a > b > c: 2 50 1", "b > a: 1 9 4", "c: 1 2 8")
	again := parse(t, "a > a > b > b > b > c > c: 2 50 1", "b > b > a: 1 9 4", "c > c > c > c: 1 2 8")
	w, v := OverPaths(Markov, once.paths, once.direct), OverPaths(Markov, again.paths, again.direct)
	if ratios(w.Conversions) != ratios(v.Conversions) || ratios(w.Value) != ratios(v.Value) {
		t.Errorf("%s | %s\n%s | %s", ratios(w.Conversions), ratios(w.Value), ratios(v.Conversions), ratios(v.Value))
	}
}

// Every model conserves every cent and every conversion.
func TestNoModelLosesOrMakesAnything(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		file := random(r, 1+r.IntN(15), 200, 1+r.IntN(30))
		conversions, value := Totals(file.paths)
		for _, model := range All {
			w := OverPaths(model, file.paths, file.direct)
			for name, measure := range map[string]struct {
				total   *big.Int
				weights []*big.Int
			}{"conversions": {conversions, w.Conversions}, "value": {value, w.Value}} {
				if whole := sum(measure.weights); (whole.Sign() == 0) != (measure.total.Sign() == 0) {
					t.Fatalf("seed %d: %s of %v %s has weights of %v", seed, model, measure.total, name, whole)
				}
				if measure.total.Sign() == 0 {
					continue
				}
				var divided int64
				for i, part := range Split(measure.total.Int64(), measure.weights) {
					if divided += part; part < 0 || measure.weights[i].Sign() == 0 && part != 0 {
						t.Fatalf("seed %d: %s gives %s %d of %s", seed, model, file.names[i], part, name)
					}
				}
				if divided != measure.total.Int64() {
					t.Errorf("seed %d: %s makes %d of %v %s", seed, model, divided, measure.total, name)
				}
			}
		}
	}
}

// A path's own six models over random journeys, from a cent to 10^9.
func TestNoModelOfAJourneyLosesACent(t *testing.T) {
	c := NewCalculator()
	r := rand.New(rand.NewPCG(7, 7))
	for range 300 {
		touches := make([]Touch, 1+r.IntN(200))
		for i := range touches {
			touches[i] = Touch{At: start.Add(-time.Duration(r.Int64N(int64(30 * day)))), Direct: r.IntN(3) == 0}
		}
		total := 1 + r.Int64N(100_000_000_000)
		if r.IntN(3) == 0 {
			total = 1 + r.Int64N(100)
		}
		rules := Rules{HalfLife: time.Millisecond + time.Duration(r.Int64N(int64(20*day))), IgnoreDirect: r.IntN(2) == 0}
		slices.SortFunc(touches, func(a, b Touch) int { return a.At.Compare(b.At) })
		for _, model := range OfOrders() {
			credited, weights := c.Shares(model, touches, rules)
			var divided int64
			for _, part := range Split(total, weights) {
				divided += part
			}
			if divided != total || len(credited) != len(weights) {
				t.Fatalf("%s of %d touches makes %d of %d", model, len(touches), divided, total)
			}
		}
	}
}
