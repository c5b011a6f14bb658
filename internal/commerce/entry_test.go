package commerce

import (
	"strings"
	"testing"
)

func TestAManualEntryIsChecked(t *testing.T) {
	f := func(want string, change func(e *NewEntry)) {
		t.Helper()
		e := NewEntry{EntryID: "0195b2c0-0000-4000-8000-000000000001", InfluencerID: "0195b2c0-0000-4000-8000-000000000002",
			Kind: EntryBonus, AmountMinor: 100, Currency: BRL, Day: "2026-03-10", Reason: "r"}
		change(&e)
		if got := told(e.Check("2026-03-10")); got != want {
			t.Errorf("%+v: %q, want %q", e, got, want)
		}
	}
	f("", func(*NewEntry) {})
	f("", func(e *NewEntry) { e.Kind, e.AmountMinor = EntryAdjustment, -1 })
	f("", func(e *NewEntry) { e.Kind, e.AmountMinor = EntryProduct, 0 })
	f("", func(e *NewEntry) { e.Kind, e.AmountMinor, e.Day = EntryAdvance, MaxAmountMinor, "2025-03-09" })
	f("entry_id invalid_format; influencer_id invalid_format", func(e *NewEntry) { e.EntryID, e.InfluencerID = "1", "" })
	f("kind invalid_value", func(e *NewEntry) { e.Kind = "earned" })
	f("currency invalid_value", func(e *NewEntry) { e.Currency = "XXX1" })
	f("amount out_of_range", func(e *NewEntry) { e.AmountMinor = 0 })
	f("amount out_of_range", func(e *NewEntry) { e.AmountMinor = -1 })
	f("amount out_of_range", func(e *NewEntry) { e.Kind, e.AmountMinor = EntryAdvance, -1 })
	f("amount out_of_range", func(e *NewEntry) { e.AmountMinor = MaxAmountMinor + 1 })
	f("amount out_of_range", func(e *NewEntry) { e.Kind, e.AmountMinor = EntryAdjustment, -MaxAmountMinor-1 })
	f("amount out_of_range", func(e *NewEntry) { e.Kind, e.AmountMinor = EntryAdjustment, 0 })
	f("amount out_of_range", func(e *NewEntry) { e.Kind, e.AmountMinor = EntryProduct, 1 })
	f("reason empty", func(e *NewEntry) { e.Reason = " " })
	f("reason too_long", func(e *NewEntry) { e.Reason = strings.Repeat("r", MaxText+1) })
	f("reason invalid_characters", func(e *NewEntry) { e.Reason = "a\x01" })
	f("date invalid_date", func(e *NewEntry) { e.Day = "2026-02-30" })
	f("date invalid_date", func(e *NewEntry) { e.Day = "2026-03-11" })
	f("date out_of_range", func(e *NewEntry) { e.Day = "2025-03-08" })
}

func TestNoOrderHasTheIDOfAnAccount(t *testing.T) {
	account := AccountOf(OfEntry, "x")
	if of, id := SplitAccount(account); of != OfEntry || id != "x" || IsID(account) || !IsAccount(account) || !IsLedgerAccount(account) {
		t.Errorf("%q: %q %q", account, of, id)
	}
	for _, order := range []string{"1001", "entry/x", "a/b"} {
		if of, id := SplitAccount(order); of != OfOrder || id != order || IsAccount(order) || !IsLedgerAccount(order) {
			t.Errorf("%q: %q %q", order, of, id)
		}
	}
	i := LedgerItem{OrderID: account, LedgerEntry: LedgerEntry{Entry: 1}}
	if i.EntryID() != "entry/x" {
		t.Error(i.EntryID())
	}
	if c, err := ParseLedgerCursor(LedgerCursor{At: i.At.AddDate(2025, 0, 0), OrderID: account, Entry: 1}.String()); err != nil ||
		c.OrderID != account {
		t.Errorf("%+v, %v", c, err)
	}
}
