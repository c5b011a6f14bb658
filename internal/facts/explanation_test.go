package facts

import (
	"encoding/json"
	"testing"
)

// A hub's visitors are not said to be none.
func TestAHubSaysNothingOfVisitors(t *testing.T) {
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
	f(ExplainedKey{Kind: KeyEmail, Strength: 2, Hub: true, HubOf: HubOfVisitors},
		`{"kind":"email","strength":2,"hub":true,"hub_of":"visitors"}`)
	f(ExplainedKey{Kind: KeyEmail, Strength: 2, Hub: true, HubOf: HubOfOrders}, `{"kind":"email","strength":2,"hub":true,"hub_of":"orders"}`)
}
