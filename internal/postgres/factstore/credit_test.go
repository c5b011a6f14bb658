package factstore

import (
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/tributary-io/tributary/internal/facts"
)

func given(minor int64) facts.Part { return facts.Part{Given: true, Minor: minor} }

func TestCreditsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	f := func(text string, list ...facts.Credit) {
		t.Helper()
		got, err := creditsText(list)
		if err != nil || got != text {
			t.Errorf("%+v became %q, %v, want %q", list, got, err, text)
		}
		var back credits
		if err := back.ScanText(pgtype.Text{String: text, Valid: true}); err != nil || !slices.Equal(back, list) {
			t.Errorf("%q became %+v, %v", text, back, err)
		}
	}
	f("")
	f("0\x1funattributed\x1f\x1f\x1f5\x1f5\x1f5\x1f5\x1f5\x1f5",
		facts.Credit{Channel: "unattributed", Parts: [facts.ModelCount]facts.Part{given(5), given(5), given(5), given(5), given(5), given(5)}})
	f("1\x1fAna Prado\x1fAZzXpC4AcACAAAAAAAAAAg\x1f=verão\x1f\x1f0\x1f\x1f-1\x1f\x1f9223372036854775807"+
		"\x1e12\x1fDirect\x1f\x1f\x1f\x1f\x1f\x1f\x1f\x1f",
		facts.Credit{Position: 1, Channel: "Ana Prado", InfluencerID: "019cd7a4-2e00-7000-8000-000000000002", CampaignID: "verão",
			Parts: [facts.ModelCount]facts.Part{1: given(0), 3: given(-1), 5: given(1<<63 - 1)}},
		facts.Credit{Position: 12, Channel: "Direct"})
}

func TestTextsThatAreNoCreditsAreErrors(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a\x1fb", "a\x1eb"} {
		if _, err := creditsText([]facts.Credit{{Channel: name}}); !errors.Is(err, errCreditText) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, text := range []string{"1", "x\x1fc\x1f\x1f\x1f\x1f\x1f\x1f\x1f\x1f", "1\x1fc\x1f!\x1f\x1f\x1f\x1f\x1f\x1f\x1f",
		"1\x1fc\x1f\x1fAAAA\x1f\x1f\x1f\x1f\x1f\x1f", "1\x1fc\x1f\x1f\x1fx\x1f\x1f\x1f\x1f\x1f"} {
		var list credits
		if err := list.ScanText(pgtype.Text{String: text, Valid: true}); err == nil {
			t.Errorf("%q became %+v", text, list)
		}
	}
}
