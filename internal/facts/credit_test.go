package facts

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestCreditsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	given := func(minor int64) Part { return Part{Given: true, Minor: minor} }
	f := func(text string, list ...Credit) {
		t.Helper()
		got, err := json.Marshal(list)
		if err != nil || string(got) != text {
			t.Errorf("%+v became %s, %v, want %s", list, got, err, text)
		}
		var back []Credit
		if err := json.Unmarshal([]byte(text), &back); err != nil || !slices.Equal(back, list) {
			t.Errorf("%s became %+v, %v", text, back, err)
		}
	}
	f(`[[0,"unattributed","","",5,5,5,5,5,5]]`,
		Credit{Channel: "unattributed", Parts: [ModelCount]Part{given(5), given(5), given(5), given(5), given(5), given(5)}})
	f(`[[1,"Ana Prado","019cd7a4-2e00-7000-8000-000000000002","verão",null,0,null,-1,null,9223372036854775807],`+
		`[12,"Direct","","",null,null,null,null,null,null]]`,
		Credit{Position: 1, Channel: "Ana Prado", InfluencerID: "019cd7a4-2e00-7000-8000-000000000002", CampaignID: "verão",
			Parts: [ModelCount]Part{1: given(0), 3: given(-1), 5: given(1<<63 - 1)}},
		Credit{Position: 12, Channel: "Direct"})
	for _, text := range []string{`[{}]`, `[["1"]]`, `[[1,"c","","","5"]]`} {
		var list []Credit
		if err := json.Unmarshal([]byte(text), &list); err == nil {
			t.Errorf("%s became %+v", text, list)
		}
	}
}
