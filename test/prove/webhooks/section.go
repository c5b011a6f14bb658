// Package webhooks is the part of `make prove` in which two senders of webhooks are killed fifty times: the test of connect/webhook, with
// more kills.
//
// What may enter: the lines of that test.
package webhooks

import (
	"context"
	"fmt"
	"time"

	"github.com/tributary-io/tributary/test/prove"
)

const text = "" +
	"Two senders deliver the events of forty orders to three endpoints, which fail now and then, while more are written. Both are killed\n" +
	"with SIGKILL at any moment, again and again. Each event that was written has come to each endpoint, signed, and those of one order\n" +
	"in their order, where an event that comes twice counts once."

// kills is how many senders are killed.
const kills = 50

// Section is the part of `make prove` with webhooks.
func Section() prove.Section {
	return prove.Section{Name: "webhooks", Title: "Webhooks whose sender is killed", Text: text,
		Columns: []string{"kills", "passed", "failed"},
		Cases: []prove.Case{{Name: "sender-kill", Title: "no event is lost, and none comes before its order's former one",
			Run: func(ctx context.Context, _ prove.Env) (prove.Result, error) {
				counts, problems, err := prove.Tests(ctx, 15*time.Minute, "TRIBUTARY_WEBHOOK_KILLS="+fmt.Sprint(kills),
					"-run=^TestNothingIsLostWhileSendersAreKilled$", "./connect/webhook")
				return prove.Result{Cells: []string{fmt.Sprint(kills), fmt.Sprint(counts["pass"]), fmt.Sprint(counts["fail"])},
					Problems: problems}, err
			}}}}
}
