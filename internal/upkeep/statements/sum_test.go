package statements

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/ledger"
)

func TestATotalThatIsNotPaidIsCarried(t *testing.T) {
	before := func(end string, total int64, carried bool) *Closed {
		return &Closed{Statement: Statement{EndDate: end}, Total: decimal.NewFromInt(total), Carried: carried, RunID: "first"}
	}
	f := func(want string, carried bool, run string, minimum int64, last *Closed, amounts ...int64) {
		t.Helper()
		var sum Sum
		for i, minor := range amounts {
			l := lineOf("a", minor, "BRL")
			l.PayableOn = "2026-04-10"
			sum.Add([]string{"o1", "o1", "o2"}[i], ledger.Entry{Line: l, Number: i + 1, Kind: ledger.Earned}, "")
		}
		c := Close(Statement{StatementID: "this", EndDate: "2026-04-30", MinimumMinor: minimum}, last, &sum, commerce.Parties{})
		got := c.StartDate + " " + c.Opening.String() + " " + c.Total.String()
		if got != want || c.Carried != carried || c.RunID != run || c.Entries != int64(len(amounts)) {
			t.Errorf("%s, carried %t, run %s, %d entries; want %s, %t, %s", got, c.Carried, c.RunID, c.Entries, want, carried, run)
		}
	}
	f("2026-04-10 0 30", false, "this", 0, nil, 10, 20)
	f("2026-04-10 0 30", false, "this", 30, nil, 10, 20)
	f("2026-04-10 0 30", true, "this", 31, nil, 10, 20)
	f("2026-04-30 0 0", true, "this", 0, nil, 10, -10)
	f("2026-04-30 0 0", true, "this", 0, nil)
	f("2026-04-16 0 10", false, "this", 0, before("2026-04-15", 99, false), 10)
	f("2026-04-16 99 109", false, "first", 100, before("2026-04-15", 99, true), 10)
	f("2026-04-16 -20 -10", true, "first", 0, before("2026-04-15", -20, true), 10)
	f("2026-04-30 5 15", false, "first", 0, before("2026-04-30", 5, true), 10) // the same day again
	f("2026-04-30 0 10", false, "this", 0, before("2026-06-30", 5, false), 10) // an earlier day
}

// An order whose day was corrected is in the statement as one that had the day from the
// beginning.
func TestAFirstStatementBeginsWithWhatIsOwed(t *testing.T) {
	f := func(want string, entries ...ledger.Entry) {
		t.Helper()
		var sum Sum
		for i, e := range entries {
			e.Number = i + 1
			sum.Add("o1", e, "")
		}
		if c := Close(Statement{EndDate: "2026-09-30"}, nil, &sum, commerce.Parties{}); c.StartDate != want {
			t.Errorf("from %s, want %s", c.StartDate, want)
		}
	}
	on := func(day string, minor int64) ledger.Entry {
		l := lineOf("a", minor, "BRL")
		l.PayableOn = day
		return ledger.Entry{Line: l, Kind: ledger.Earned}
	}
	f("2026-09-21", on("2026-09-21", 10))
	f("2026-09-21", on("2026-08-20", 10), on("2026-08-20", -10), on("2026-09-21", 10))
	f("2026-08-20", on("2026-08-20", 10), on("2026-08-20", -4), on("2026-09-21", 10))
	f("2026-08-20", on("2026-08-20", 10), on("2026-09-21", -10)) // both days have something
}

func TestASumCountsOrdersThatAreNotZeroAndTellsEntriesApart(t *testing.T) {
	digest := func(wantLines int64, entries ...ledger.Entry) []byte {
		t.Helper()
		var sum Sum
		for i, e := range entries {
			sum.Add([]string{"o1", "o1", "o2"}[i], e, "")
		}
		c := Close(Statement{}, nil, &sum, commerce.Parties{})
		if c.Lines != wantLines {
			t.Errorf("%v: %d lines, want %d", entries, c.Lines, wantLines)
		}
		return c.Digest
	}
	entry := func(number int, minor int64) ledger.Entry {
		return ledger.Entry{Line: lineOf("a", minor, "BRL"), Number: number}
	}
	one := digest(2, entry(1, 10), entry(2, 5), entry(1, 7))
	if !bytes.Equal(one, digest(2, entry(1, 10), entry(2, 5), entry(1, 7))) {
		t.Error("equal entries have two digests")
	}
	for _, other := range [][]byte{digest(1, entry(1, 10), entry(2, -10), entry(1, 7)), digest(0),
		digest(2, entry(1, 5), entry(2, 10), entry(1, 7)), digest(2, entry(1, 10), entry(3, 5), entry(1, 7))} {
		if bytes.Equal(one, other) {
			t.Error("other entries have the same digest")
		}
	}
}

// A sum that is stored and read between any two entries is the same.
func TestASumGoesOnWhereItWas(t *testing.T) {
	var entries []ledger.Entry
	var orders []string
	for i := range 9 {
		l := lineOf("a", int64(i%3)-1, "BRL")
		l.PayableOn = "2026-04-1" + string(rune('0'+(i*7)%9))
		entries, orders = append(entries, ledger.Entry{Line: l, Number: i%3 + 1}), append(orders, "o"+string(rune('0'+i/3)))
	}
	sumOf := func(pauses func(i int) bool) Closed {
		t.Helper()
		sum := &Sum{}
		for i, e := range entries {
			if pauses(i) {
				stored, err := json.Marshal(sum)
				if err != nil {
					t.Fatal(err)
				}
				if sum = new(Sum); json.Unmarshal(stored, sum) != nil {
					t.Fatalf("%s cannot be read", stored)
				}
			}
			sum.Add(orders[i], e, "")
			if sum.Order != orders[i] || sum.Number != e.Number {
				t.Errorf("the last is %s %d", sum.Order, sum.Number)
			}
		}
		return Close(Statement{}, nil, sum, commerce.Parties{})
	}
	want := sumOf(func(int) bool { return false })
	for at := range len(entries) + 1 {
		got := sumOf(func(i int) bool { return at == len(entries) || i == at })
		if !bytes.Equal(got.Digest, want.Digest) || got.Lines != want.Lines || got.Entries != want.Entries || !got.Total.Equal(want.Total) ||
			got.StartDate != want.StartDate {
			t.Errorf("with a pause at %d: %+v, want %+v", at, got, want)
		}
	}
}

// What a closed statement keeps of its entries and parties: anybody can compute it from these.
func TestADigestIsAChainOverTheEntriesAndTheParties(t *testing.T) {
	var sum Sum
	nobody := sha256.Sum256([]byte(`["","","","","","","",""]`))
	if c := Close(Statement{}, nil, &sum, commerce.Parties{}); !bytes.Equal(c.Digest, nobody[:]) {
		t.Errorf("without entries: %x", c.Digest)
	}
	sum.Add("o1", ledger.Entry{Line: lineOf("a", 10, "BRL"), Number: 1, Kind: ledger.Earned}, `["#1"]`)
	sum.Add("o1", ledger.Entry{Line: lineOf("a", -10, "BRL"), Number: 2, Kind: ledger.Reversed, Reverses: 1}, "")
	first := sha256.Sum256([]byte(`["o1",1,"earned","i","c","a",10,"BRL","",0,"[\"#1\"]"]`))
	both := sha256.Sum256(append(first[:], `["o1",2,"reversed","i","c","a",-10,"BRL","",1,""]`...))
	want := sha256.Sum256(append(both[:], `["Loja","1","Ana","2","cpf","3","2026-03-10T12:00:00Z","cli"]`...))
	c := Close(Statement{}, nil, &sum, commerce.Parties{Store: commerce.Party{Name: "Loja", Document: "1"},
		Influencer: commerce.Party{Name: "Ana", Document: "2"}, Pix: commerce.Pix{Type: commerce.PixCPF, Key: "3"},
		PixChanged: commerce.Touched{At: noon, Actor: "cli"}})
	if !bytes.Equal(c.Digest, want[:]) || !bytes.Equal(sum.Digest, both[:]) {
		t.Errorf("%x, want %x", c.Digest, want)
	}
}

func lineOf(cost string, minor int64, currency string) facts.Line {
	return facts.Line{InfluencerID: "i", CampaignID: "c", CostID: cost, AmountMinor: minor, Currency: currency}
}

// A sum is read by the next version of the program, too.
func TestTheStoredFormOfASumStays(t *testing.T) {
	t.Parallel()
	sum := Sum{Count: 2, Lines: 1, FirstDay: "2026-03-01", Order: "o1", Number: 3, Digest: []byte{1}, Amount: decimal.NewFromInt(5),
		Net: map[string]decimal.Decimal{"2026-03-01": decimal.NewFromInt(5)}}
	text, err := json.Marshal(&sum)
	const want = `{"amount":"5","count":2,"lines":1,"first_day":"2026-03-01","order":"o1","number":3,"net":{"2026-03-01":"5"},"digest":"AQ=="}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
}
