package shops

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tributary-io/tributary/test/fakes"
	"github.com/tributary-io/tributary/test/prove"
)

// text is what the page says above the table.
const text = "" +
	"Fake shops (`test/fakes`; no real ones) are connected to one connect service, which is SIGKILLed ten times while orders live random\n" +
	"lives and shops, Kafka and PostgreSQL fail ([how](notes/connect.md#proof)). *Equal*: each order's status and total to the cent, none\n" +
	"missing or twice, credits alike; forged and replayed notices change nothing. Times are from payment to credit. *Lives*: `-lives` made\n" +
	"this run smaller where it is below 1,000."

// Section is the part of `make prove` about shops. The first of its lines that is chosen runs the shops of all.
func Section() prove.Section {
	section := prove.Section{Name: "connect", Title: "Shops that are connected", Text: text,
		Columns: []string{"lives", "orders", "refunds", "cancelled", "requests", "beyond", "notices", "forged", "replayed", "read every",
			"with notices: median, worst", "by reading alone", "**equal**"}}
	var once sync.Once
	var outcomes map[string]Outcome
	var failed error
	for _, name := range fakes.Platforms() {
		section.Cases = append(section.Cases, prove.Case{Name: name, Title: name,
			Run: func(ctx context.Context, e prove.Env) (prove.Result, error) {
				r := Sized(e.Lives)
				r.Dir, r.Binary, r.Seed, r.Say = e.Dir, e.Binary, e.Seed, e.Say
				once.Do(func() {
					if outcomes, failed = r.Do(ctx); failed == nil {
						failed = r.clean()
					}
				})
				if failed != nil {
					return prove.Result{}, failed
				}
				o := outcomes[name]
				return prove.Result{Problems: o.Problems, Cells: []string{
					fmt.Sprint(r.Lives), fmt.Sprint(o.Orders), fmt.Sprint(o.Refunds), fmt.Sprint(o.Cancelled), fmt.Sprint(o.Requests),
					fmt.Sprint(o.Beyond), fmt.Sprint(o.Notices), fmt.Sprint(o.Forged), fmt.Sprint(o.Replayed), r.Poll.String(),
					both(o.WithNotices), both(o.Polled), map[bool]string{true: "yes", false: "**no**"}[len(o.Problems) == 0]}}, nil
			}})
	}
	return section
}

// both are the median and the worst of sorted times.
func both(times []time.Duration) string {
	if len(times) == 0 {
		return "none"
	}
	return fmt.Sprintf("%.1f s, %.1f s", times[len(times)/2].Seconds(), times[len(times)-1].Seconds())
}
