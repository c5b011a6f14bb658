package edgefault

import (
	"context"
	"fmt"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

// Fault is one thing that goes wrong while events come.
type Fault struct {
	Name  string
	Title string // for the table
	Nodes []int  // sizes of Kafka with which it is proven

	NoSpool   bool // the edge has no --spool
	Proxied   bool // a proxy stands between the edge and each broker
	SmallDisk bool // the spool's disk is small

	shape func(*Shape) // changes the load; nil: none
	do    func(ctx context.Context, s *stand) error
	// happened is an error if the fault did not show: then nothing is proven.
	happened func(s *stand) error
}

// Size is how much load there is and how long faults last.
type Size struct {
	shape   Shape
	between int           // events that are acknowledged before, after and between faults
	rounds  int           // of faults that are short
	stopped time.Duration // a process that is stopped
	gone    time.Duration // a broker that is gone
	cut     time.Duration // a network that is cut
	moves   int           // of leaders
}

// Full is the size of `make prove`, about 700 events a second.
func Full() Size {
	return Size{
		shape:   Shape{Companies: 8, Clients: 4, Batch: 5, Pause: 100 * time.Millisecond},
		between: 3000, rounds: 3, stopped: 15 * time.Second, gone: time.Minute, cut: 20 * time.Second, moves: 10,
	}
}

var (
	oneNode    = []int{1}
	threeNodes = []int{3}
	both       = []int{1, 3}
)

// Faults are all of them, in the table's order.
func Faults() []Fault {
	return []Fault{
		{Name: "none", Title: "nothing", Nodes: both, do: nothing},
		{Name: "edge-killed", Title: "edge SIGKILLed, three times", Nodes: both, do: edgeKilled},
		{Name: "edge-terminated", Title: "edge SIGTERMed in full load, three times", Nodes: oneNode, shape: fullLoad, do: edgeTerminated},
		{Name: "slow-clients", Title: "64 slow clients beside the others", Nodes: oneNode, shape: slowClients, do: nothing},
		{Name: "broker-killed", Title: "broker SIGKILLed and started again, three times", Nodes: oneNode, do: brokerKilled},
		{Name: "no-spool", Title: "the same, an edge without a spool", Nodes: oneNode, NoSpool: true, do: brokerKilled},
		{Name: "broker-stopped", Title: "broker SIGSTOPped for 15 s", Nodes: both, do: brokerStopped},
		{Name: "broker-hung", Title: "broker SIGSTOPped for 15 s, then SIGKILLed and started again", Nodes: both, do: brokerHung},
		{Name: "leader-killed", Title: "broker that leads SIGKILLed, each once", Nodes: threeNodes, do: leadersKilled},
		{Name: "leader-moved", Title: "all leaders moved, ten times", Nodes: threeNodes, do: leadersMoved},
		{Name: "rolling", Title: "brokers restarted one after the other", Nodes: threeNodes, do: rolling},
		{Name: "minority", Title: "two of three brokers gone for 20 s", Nodes: threeNodes, do: minority},
		{Name: "broker-gone", Title: "all brokers gone for 60 s", Nodes: both, do: brokerGone},
		{Name: "both-gone", Title: "all brokers gone, edge SIGKILLed twice and SIGTERMed meanwhile", Nodes: both, do: bothGone},
		{Name: "drain-killed", Title: "edge SIGKILLed while it drains its spool", Nodes: oneNode, do: drainKilled},
		{Name: "partition", Title: "network cut between edge and broker for 20 s", Nodes: both, Proxied: true, do: partition, happened: held},
		{Name: "answers-lost", Title: "broker hears the edge, its answers are lost", Nodes: oneNode, Proxied: true,
			do: answersLost, happened: held},
		{Name: "disk-full", Title: "broker gone until the spool's disk of 4 MiB is full, edge SIGKILLed then", Nodes: oneNode,
			SmallDisk: true, do: diskFull},
	}
}

func fullLoad(s *Shape) { s.Pause /= 10 }

func slowClients(s *Shape) { s.Slow = 64 }

func held(s *stand) error {
	for _, p := range s.proxies {
		if p.Up.held.Load()+p.Down.held.Load() > 0 {
			return nil
		}
	}
	return fmt.Errorf("the proxy held nothing")
}

// steps runs one after the other until one fails.
func steps(list ...func() error) error {
	for _, step := range list {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// rounds repeats a fault, with load between.
func (s *stand) rounds(ctx context.Context, fault func() error) error {
	for range s.size.rounds {
		if err := steps(fault, func() error { return s.awaitAcked(ctx, s.size.between) }); err != nil {
			return err
		}
	}
	return nil
}

func (s *stand) hold(ctx context.Context, d time.Duration) func() error {
	return func() error { return hold(ctx, d) }
}

func (s *stand) killBrokers() error { s.cluster.Kill(); return nil }

func (s *stand) restartBrokers(ctx context.Context) func() error {
	return func() error { return s.cluster.Restart(ctx) }
}

// outage begins a fault, lets it last for a time and until the edge spools, and
// ends it.
func (s *stand) outage(ctx context.Context, d time.Duration, begin, end func() error) error {
	before := s.load.Spooled.Load()
	return steps(begin, s.hold(ctx, d),
		func() error {
			return until(ctx, "events are spooled", func() (bool, error) { return s.load.Spooled.Load() > before, nil })
		},
		end)
}

// writeSnapshot makes the edge one that can start without Kafka: it writes its
// snapshot when it stops, and every 10 s.
func (s *stand) writeSnapshot(ctx context.Context) func() error {
	return func() error {
		return steps(s.edge.terminate, func() error { return s.edge.start(ctx) }, func() error { return s.awaitSnapshot(ctx) })
	}
}

func nothing(ctx context.Context, s *stand) error { return s.awaitAcked(ctx, 3*s.size.between) }

func edgeKilled(ctx context.Context, s *stand) error {
	return s.rounds(ctx, func() error {
		return steps(s.edge.kill, func() error { return s.edge.start(ctx) })
	})
}

func edgeTerminated(ctx context.Context, s *stand) error {
	return s.rounds(ctx, func() error {
		return steps(s.edge.terminate, func() error { return s.edge.start(ctx) })
	})
}

func brokerKilled(ctx context.Context, s *stand) error {
	return s.rounds(ctx, func() error { return steps(s.killBrokers, s.restartBrokers(ctx)) })
}

func brokerStopped(ctx context.Context, s *stand) error {
	leader, err := s.leader(ctx)
	if err != nil {
		return err
	}
	broker := s.cluster.Brokers[leader]
	return s.outage(ctx, s.size.stopped, broker.Pause, broker.Continue)
}

// brokerHung loses what was under way to the broker: it never reads it.
func brokerHung(ctx context.Context, s *stand) error {
	leader, err := s.leader(ctx)
	if err != nil {
		return err
	}
	broker := s.cluster.Brokers[leader]
	return s.outage(ctx, s.size.stopped, broker.Pause, func() error {
		broker.Kill()
		return broker.Restart(ctx)
	})
}

func leadersKilled(ctx context.Context, s *stand) error {
	for range s.cluster.Brokers {
		leader, err := s.leader(ctx)
		if err != nil {
			return err
		}
		s.cluster.Brokers[leader].Kill()
		err = steps(s.hold(ctx, s.size.cut/4),
			func() error { return s.cluster.Brokers[leader].Restart(ctx) },
			func() error { return s.cluster.AwaitInSync(ctx, wire.TopicEvents) },
			func() error { return s.awaitAcked(ctx, s.size.between) })
		if err != nil {
			return err
		}
	}
	return nil
}

func leadersMoved(ctx context.Context, s *stand) error {
	moved := 0
	for range s.size.moves {
		n, err := s.cluster.MoveLeaders(ctx, wire.TopicEvents)
		if err != nil {
			return err
		}
		moved += n
		if err := s.awaitAcked(ctx, s.size.between/3); err != nil {
			return err
		}
	}
	s.say("leaders moved: %d", moved)
	if moved == 0 {
		return fmt.Errorf("no leader moved")
	}
	return nil
}

func rolling(ctx context.Context, s *stand) error {
	for _, broker := range s.cluster.Brokers {
		broker.Stop()
		err := steps(
			func() error { return broker.Restart(ctx) },
			func() error { return s.cluster.AwaitInSync(ctx, wire.TopicEvents) },
			func() error { return s.awaitAcked(ctx, s.size.between/3) })
		if err != nil {
			return err
		}
	}
	return nil
}

func minority(ctx context.Context, s *stand) error {
	gone := s.cluster.Brokers[1:]
	return s.outage(ctx, s.size.cut,
		func() error {
			for _, broker := range gone {
				broker.Kill()
			}
			return nil
		},
		func() error {
			for _, broker := range gone {
				if err := broker.Restart(ctx); err != nil {
					return err
				}
			}
			return nil
		})
}

func brokerGone(ctx context.Context, s *stand) error {
	return s.outage(ctx, s.size.gone, s.killBrokers, s.restartBrokers(ctx))
}

func bothGone(ctx context.Context, s *stand) error {
	start := func() error { return s.edge.start(ctx) }
	someSpooled := func() error { return s.awaitSpooled(ctx, s.size.between) }
	return steps(s.writeSnapshot(ctx),
		s.killBrokers, someSpooled,
		s.edge.kill, start, someSpooled,
		s.edge.kill, start, someSpooled,
		s.edge.terminate, start, someSpooled,
		s.restartBrokers(ctx))
}

// drainKilled kills the edge in the middle of its work: what it has sent since
// its last mark it sends again.
func drainKilled(ctx context.Context, s *stand) error {
	return s.rounds(ctx, func() error {
		return steps(s.killBrokers,
			func() error { return s.awaitSpooled(ctx, 2*s.size.between) },
			s.restartBrokers(ctx),
			func() error { return s.awaitDraining(ctx) },
			s.edge.kill, func() error { return s.edge.start(ctx) })
	})
}

func partition(ctx context.Context, s *stand) error {
	leader, err := s.leader(ctx)
	if err != nil {
		return err
	}
	p := s.proxies[leader]
	return s.outage(ctx, s.size.cut,
		func() error { p.Up.Shut(); p.Down.Shut(); return nil },
		func() error { p.Up.Release(); p.Down.Release(); return nil })
}

// answersLost resets the connections at its end, so that the answers that were
// under way never come.
func answersLost(ctx context.Context, s *stand) error {
	p := s.proxies[0]
	return s.rounds(ctx, func() error {
		return s.outage(ctx, s.size.cut/4,
			func() error { p.Down.Shut(); return nil },
			func() error { p.Sever(); p.Down.Release(); return nil })
	})
}

// diskFull kills the edge too: its next life begins with a full disk, so it is not
// ready.
func diskFull(ctx context.Context, s *stand) error {
	someRefused := func() error { return s.awaitMore(ctx, "refused", s.size.between/100, s.load.Refused.Load) }
	return steps(s.writeSnapshot(ctx),
		s.killBrokers, someRefused, s.hold(ctx, s.size.stopped/3),
		s.edge.kill, func() error { return s.edge.startUntil(ctx, "/healthz") }, someRefused,
		s.restartBrokers(ctx))
}
