// Package edgefault proves that the edge loses nothing that it acknowledged,
// stores nothing under two ids and keeps its order, whatever happens to it, to
// Kafka and to what is between them.
//
// A run starts a real Apache Kafka, the built binary's edge before it, and
// clients. A fault comes upon them (faults.go). At the end the log is read, and
// compared with what the clients saw (package history).
//
// What may enter: starting, breaking and loading the real programs. No service
// of ours is imported.
package edgefault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/tributary-io/tributary/test/prove/history"
)

// ErrNoRights: the fault needs rights that this process does not have.
var ErrNoRights = errors.New("only root may mount a small disk")

// Run is one fault to prove.
type Run struct {
	Fault  Fault
	Size   Size
	Nodes  int    // of Kafka
	Binary string // tributary
	Dir    string // a directory for everything; it is made, and removed after a good run
	Seed   uint64 // of the load
	Say    func(format string, args ...any)
}

// Outcome is what a run saw. The verdict and the problems say whether the proof
// holds; all else is told.
type Outcome struct {
	history.Verdict
	Spooled        int           // events that were acknowledged from the spool
	Refused        int           // answers with 503
	SilentSeconds  int           // in which nothing was acknowledged
	LongestSilence time.Duration // of one company
	Lasted         time.Duration // the load
	Problems       []string      // beside the verdict's examples
}

// Good tells that nothing is wrong.
func (o *Outcome) Good() bool { return o.Verdict.Good() && len(o.Problems) == 0 }

// Do proves one fault. An error says that it could not be proven.
func (r Run) Do(ctx context.Context) (o Outcome, err error) {
	if r.Say == nil {
		r.Say = func(string, ...any) {}
	}
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return o, err
	}
	s, err := newStand(ctx, r, r.Nodes, r.Dir)
	if err != nil {
		return o, err
	}
	o, err = s.prove(ctx)
	err = errors.Join(err, s.close())
	if err == nil && o.Good() || ctx.Err() != nil {
		return o, errors.Join(err, os.RemoveAll(r.Dir))
	}
	if err != nil {
		err = fmt.Errorf("%w (files: %s)", err, r.Dir)
	}
	return o, err
}

// prove runs the load over the fault and judges what became of it.
func (s *stand) prove(ctx context.Context) (o Outcome, err error) {
	s.load.Start(ctx)
	err = steps(
		func() error { return s.awaitAcked(ctx, s.size.between) },
		func() error { return s.fault.do(ctx, s) },
		func() error { return s.awaitAcked(ctx, s.size.between) })
	s.load.End()
	if err != nil {
		return o, err
	}
	err = steps(func() error { return s.awaitDrained(ctx) }, s.edge.terminate)
	if err != nil {
		return o, err
	}
	records, misplaced, err := ReadLog(ctx, s.cluster.Addrs())
	if err != nil {
		return o, err
	}
	o = Outcome{
		Verdict: history.Check(history.History{Events: s.load.Events(), Records: records}),
		Spooled: int(s.load.Spooled.Load()), Refused: int(s.load.Refused.Load()), Lasted: s.load.lasted, Problems: s.load.Odd(),
	}
	o.SilentSeconds, o.LongestSilence = s.load.silence()
	if misplaced > 0 {
		o.Problems = append(o.Problems, fmt.Sprintf("%d records in another partition, under another key or with another text", misplaced))
	}
	complaints, err := s.edge.complaints()
	if err != nil {
		return o, err
	}
	o.Problems = append(o.Problems, complaints...)
	if s.fault.happened != nil {
		if err := s.fault.happened(s); err != nil {
			o.Problems = append(o.Problems, "the fault proves nothing: "+err.Error())
		}
	}
	return o, nil
}
