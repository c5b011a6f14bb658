package processing

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tributary-io/tributary/dev/devstack"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/test/kafkadist"
	"github.com/tributary-io/tributary/test/prove"
)

// textOfFaults is what the page says above the table of faults.
const textOfFaults = "" +
	"Twelve stores, three hundred shoppers each: visits by links, UTM values, ads and search, carts, e-mails, log-ins, cookies, late " +
	"events, bots,\n" +
	"other copies of an id; orders with up to three versions, coupons, partial refunds and cancellations; decisions. The built processor\n" +
	"applies all of it, in order, from a real Apache Kafka. Then the tables are emptied, and the same records come shuffled, a fifth of " +
	"them once\n" +
	"more, in five parts, with the fault in each part. *Same ledger* says whether the ledger hash of both is one, and that of `tributary " +
	"verify`, which\n" +
	"computes everything again from the stored facts. A kill inside of a transaction comes while it waits for a table that is held, " +
	"after it has\n" +
	"written much."

// Short is the size of faults for tests.
func Short() Size { return Size{Stores: 2, Shoppers: 60, Rounds: 2} }

// Full is the size of `make prove`, thirty times that of the tests.
func Full() Size { return Size{Stores: 12, Shoppers: 300, Rounds: 5} }

// textOfJob is what the page says above the table of jobs.
const textOfJob = "" +
	"A store gets a coupon whose code forty thousand of its orders have. They are computed again as a durable job: in chunks, interleaved\n" +
	"with live records of the same store and partition, an order at most once in the queue, though the change is told twice. During the " +
	"job each\n" +
	"waiting order is shown as recomputing, and the processor is SIGKILLed and started again. Live orders, and live events that credit " +
	"an older\n" +
	"order, are sent one after the other: the times are from Kafka's acknowledgement of the record until the credit can be read. Those " +
	"*alone* are\n" +
	"of the same store before the job. No time is asserted; that live orders do not wait for the job is: the first is credited while " +
	"at least\n" +
	"half of the job waits. In the end every order of the job is paid once, and `tributary verify` finds no difference."

// FullJob is the size of `make prove`.
func FullJob(p Place) JobRun { return JobRun{Place: p, Orders: 40_000, Live: 100, Kills: 2} }

// jobSection is the line about a job beside live traffic.
func jobSection() prove.Section {
	return prove.Section{
		Name: "job", Title: "Live orders beside a job", Text: textOfJob,
		Columns: []string{"orders of the job", "it took", "kills", "live orders alone: median, p99", "beside it", "live events alone",
			"beside it", "credited before its end"},
		Cases: []prove.Case{{Name: "wide-coupon", Title: "a coupon's period",
			Run: onPlace(func(ctx context.Context, p Place, _ prove.Env) (prove.Result, error) {
				r := FullJob(p)
				o, err := r.Do(ctx)
				if err != nil {
					return prove.Result{}, err
				}
				both := func(times []time.Duration) string {
					return fmt.Sprintf("%d ms, %d ms", percentile(times, 50).Milliseconds(), percentile(times, 99).Milliseconds())
				}
				return prove.Result{
					Cells: []string{
						fmt.Sprint(r.Orders), fmt.Sprintf("%.0f s", o.Job.Seconds()), fmt.Sprint(o.Kills), both(o.Alone.Orders), both(o.Beside.Orders),
						both(o.Alone.Events), both(o.Beside.Events), fmt.Sprintf("%d of %d", o.BeforeTheEnd, len(o.Beside.Orders)+len(o.Beside.Events)),
					},
					Problems: o.Problems,
				}, nil
			})}},
	}
}

// Sections are the processor's part of `make prove`.
func Sections() []prove.Section {
	faults := prove.Section{
		Name: "ledger", Title: "The ledger is that of the facts", Text: textOfFaults,
		Columns: []string{"records", "orders", "kills", "moves", "**same ledger**", "hash"},
	}
	for _, fault := range Faults() {
		faults.Cases = append(faults.Cases, prove.Case{Name: fault.Name, Title: fault.Title,
			Run: onPlace(func(ctx context.Context, p Place, e prove.Env) (prove.Result, error) {
				o, err := Run{Place: p, Fault: fault, Size: Full(), Seed: e.Seed}.Do(ctx)
				if err != nil {
					return prove.Result{}, err
				}
				return prove.Result{
					Cells: []string{fmt.Sprint(o.Records), fmt.Sprint(o.Orders), fmt.Sprint(o.Kills), fmt.Sprint(o.Moves),
						yesOrNo(len(o.Problems) == 0), o.Faulted[:12] + "…"},
					Problems: o.Problems,
				}, nil
			})})
	}
	return []prove.Section{faults, jobSection(), strangerSection(), scaleSection(), removalSection()}
}

// textOfStranger is what the page says above the table of strangers.
const textOfStranger = "" +
	"Without a key, a stranger sends 80,000 events with the e-mail of a customer, by twenty visitors, in 20 seconds, and the same e-mail " +
	"is on forty\n" +
	"orders; twice over, with a SIGKILL of the processor between. Then single events, each of which concerns all of these orders. A second " +
	"store of the same\n" +
	"partition sells one order after the other meanwhile: the times are from Kafka's acknowledgement of such an order until its credit can " +
	"be read.\n" +
	"The processor has a hard limit of 512 MiB of data (RLIMIT_DATA), and may have 256 MiB of memory."

// StrangersCost is the size of `make prove`.
func StrangersCost(p Place) StrangerRun {
	return StrangerRun{Place: p, Visitors: 20, Events: 4000, Orders: 40, Rounds: 2, Pokes: 10, MaxData: 512 << 20,
		Pace: 100 * time.Millisecond}
}

// strangerSection is the line about a stranger's events.
func strangerSection() prove.Section {
	return prove.Section{
		Name: "stranger", Title: "A stranger against the processor", Text: textOfStranger,
		Columns: []string{"events", "orders", "kills", "most memory", "second store's orders beside the flood: median, worst",
			"beside single events", "**within 1 s, 3 s and 256 MiB**"},
		Cases: []prove.Case{{Name: "one-e-mail", Title: "one e-mail",
			Run: onPlace(func(ctx context.Context, p Place, _ prove.Env) (prove.Result, error) {
				r := StrangersCost(p)
				r.Verify = true
				o, err := r.Do(ctx)
				if err != nil {
					return prove.Result{}, err
				}
				both := func(times []time.Duration) string {
					return fmt.Sprintf("%d ms, %d ms", percentile(times, 50).Milliseconds(), percentile(times, 100).Milliseconds())
				}
				for _, times := range [][]time.Duration{o.Flooded, o.Poked} {
					if percentile(times, 50) > time.Second || percentile(times, 100) > 3*time.Second {
						o.Problems = append(o.Problems, "the second store's orders took "+both(times))
					}
				}
				return prove.Result{
					Cells: []string{
						fmt.Sprint(o.Events), fmt.Sprint(o.Orders), fmt.Sprint(o.Kills), fmt.Sprintf("%d MiB", o.Memory>>20), both(o.Flooded), both(o.Poked),
						yesOrNo(len(o.Problems) == 0),
					},
					Problems: o.Problems,
				}, nil
			})}},
	}
}

// textOfScale is what the page says above the table of processors.
const textOfScale = "" +
	"Processors are added, SIGKILLed and frozen while records come: a hundred at a time, twenty times a second. Each round kills one " +
	"and adds\n" +
	"another; freezes one by SIGSTOP, before or inside of a transaction, until the others own its partitions and have applied records " +
	"of them;\n" +
	"and lets it go on with the batch that it had read, while Kafka does not answer: so it does not learn that it is no member any more.\n" +
	"PostgreSQL keeps each change of an offset in the order of the commits, with the process and its epoch: they must be those of one " +
	"owner of a\n" +
	"partition, and so of a company, at a time, without a gap and without an overlap. In the end each event is stored and\n" +
	"counted once, and the ledger is that of a replay by a single process (`tributary verify`). *fenced* are the times that a frozen " +
	"processor tried to\n" +
	"commit after others had taken over."

// FullScale is the size of `make prove`.
func FullScale(p Place, processors int, seed uint64) ScaleRun {
	return ScaleRun{Place: p, Size: Size{Stores: 12, Shoppers: 300}, Processors: []int{processors},
		Freezes: []Freeze{FrozenBefore, FrozenInside, FrozenBefore}, Seed: seed}
}

// scaleSection is the lines about processors that come and go.
func scaleSection() prove.Section {
	section := prove.Section{
		Name: "scale", Title: "Processors that come and go", Text: textOfScale,
		Columns: []string{"records", "orders", "added", "kills", "frozen", "fenced", "takeovers of partitions",
			"**one owner, each once, same ledger**", "hash"},
	}
	for _, n := range []int{2, 4} {
		section.Cases = append(section.Cases, prove.Case{Name: fmt.Sprint(n, "-processors"), Title: fmt.Sprint(n, " processors"),
			Run: onPlace(func(ctx context.Context, p Place, e prove.Env) (prove.Result, error) {
				o, err := FullScale(p, n, e.Seed).Do(ctx)
				if err != nil {
					return prove.Result{}, err
				}
				return prove.Result{
					Cells: []string{fmt.Sprint(o.Records), fmt.Sprint(o.Orders), fmt.Sprint(o.Added), fmt.Sprint(o.Kills), fmt.Sprint(o.Freezes),
						fmt.Sprint(o.Fenced),
						fmt.Sprint(o.Takeovers), yesOrNo(len(o.Problems) == 0), o.Hash[:12] + "…"},
					Problems: o.Problems,
				}, nil
			})})
	}
	return section
}

// textOfRemoval is what the page says above the table of removals.
const textOfRemoval = "" +
	"Four persons of each store are erased, and then all events are removed by age (`tributary retain`), after the orders that read " +
	"them are\n" +
	"snapshotted. The process that does it is SIGKILLed eight times in each of the two; *kills* are those that came inside of a " +
	"transaction. " +
	"*Same ledger, nothing left*: the ledger hash is\n" +
	"that of before both, and that of a replay by `tributary verify`, which finds no other sums of reports either; and no event, no\n" +
	"observation, no visitor's day, no key of an erasure and no key of the persons in orders is left."

// FullRemoval is the size of `make prove`.
func FullRemoval(p Place, seed uint64) Removal {
	return Removal{Place: p, Size: Full(), Seed: seed, Kills: 8}
}

// removalSection is the line about persons that are erased and events that are removed.
func removalSection() prove.Section {
	return prove.Section{
		Name: "removal", Title: "Erased persons and removed events", Text: textOfRemoval,
		Columns: []string{"orders", "persons", "kills", "**same ledger, nothing left**", "hash"},
		Cases: []prove.Case{{Name: "erased-and-old", Title: "persons erased, then all events removed",
			Run: onPlace(func(ctx context.Context, p Place, e prove.Env) (prove.Result, error) {
				o, err := FullRemoval(p, e.Seed).Do(ctx)
				if err != nil {
					return prove.Result{}, err
				}
				return prove.Result{
					Cells:    []string{fmt.Sprint(o.Orders), fmt.Sprint(o.Persons), fmt.Sprint(o.Kills), yesOrNo(len(o.Problems) == 0), o.Hash[:12] + "…"},
					Problems: o.Problems,
				}, nil
			})}},
	}
}

func yesOrNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "**no**"
}

// onPlace runs a case on a PostgreSQL of its own, with real Kafkas of its own.
func onPlace(run func(ctx context.Context, p Place, e prove.Env) (prove.Result, error)) func(ctx context.Context,
	e prove.Env) (prove.Result, error) {
	return func(ctx context.Context, e prove.Env) (result prove.Result, err error) {
		// Not a private directory: PostgreSQL may run as nobody.
		if err := os.MkdirAll(e.Dir, 0o755); err != nil { //nolint:gosec // PostgreSQL's account reads below it
			return result, err
		}
		for dir := e.Dir; dir != filepath.Dir(filepath.Dir(e.Dir)); dir = filepath.Dir(dir) {
			if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // likewise
				return result, err
			}
		}
		server, err := devstack.StartPostgres(ctx,
			devstack.PostgresConfig{Dir: filepath.Join(e.Dir, "postgres"), Repository: os.Getenv("TRIBUTARY_POSTGRES_REPOSITORY")})
		if err != nil {
			return result, err
		}
		defer server.Stop()
		dsn, err := server.CreateDatabase(ctx, "prove")
		if err == nil {
			err = postgres.Migrate(ctx, dsn)
		}
		if err != nil {
			return result, err
		}
		kafkas := 0
		p := Place{Binary: e.Binary, Dir: filepath.Join(e.Dir, "output"), DSN: dsn, ServerPid: server.Pid(), Say: e.Say,
			Kafka: func(ctx context.Context) (Kafka, error) {
				kafkas++
				cluster, err := kafkadist.StartCluster(ctx, kafkadist.ClusterConfig{Dir: filepath.Join(e.Dir, fmt.Sprint("kafka-", kafkas)), Nodes: 1})
				if err != nil {
					return Kafka{}, err
				}
				broker := cluster.Brokers[0]
				return Kafka{broker.Addr(), cluster.Kill, broker.Pause, broker.Continue}, nil
			},
		}
		result, err = run(ctx, p, e)
		if err == nil && len(result.Problems) == 0 || ctx.Err() != nil {
			server.Stop()
			err = errors.Join(err, os.RemoveAll(e.Dir))
		}
		return result, err
	}
}
