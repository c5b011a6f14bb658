package facts

import (
	"encoding/json"
	"testing"
)

// Visitors that were not counted are not said to be none.
func TestAHubOfOrdersSaysNothingOfVisitors(t *testing.T) {
	f := func(k ExplainedKey, want string) {
		t.Helper()
		text, err := json.Marshal([]ExplainedKey{k})
		if err != nil || string(text) != "["+want+"]" {
			t.Errorf("%s, %v; want %s", text, err, want)
		}
		var back []ExplainedKey
		if err := json.Unmarshal(text, &back); err != nil || len(back) != 1 || back[0] != k {
			t.Errorf("%s is read as %+v, %v", text, back, err)
		}
	}
	f(ExplainedKey{Kind: KeyEmail, Strength: 2}, `{"kind":"email","strength":2,"hub":false,"visitors":0}`)
	f(ExplainedKey{Kind: KeyEmail, Strength: 2, Hub: true, HubOf: HubOfVisitors, Visitors: 21}, `{"kind":"email","strength":2,"hub":true,"hub_of":"visitors","visitors":21}`)
	f(ExplainedKey{Kind: KeyEmail, Strength: 2, Hub: true, HubOf: HubOfOrders}, `{"kind":"email","strength":2,"hub":true,"hub_of":"orders"}`)
}
