package main

import (
	"context"
	"sync"
	"time"

	"github.com/tributary-io/tributary/processor"
)

// processorLife is one process of a processor.
type processorLife struct {
	process *process
	stop    context.CancelFunc
	wait    sync.WaitGroup
}

func (w *world) startProcessor() *processorLife {
	by := newProcess()
	p := processor.New(processor.Config{BatchRecords: 40, ApplyTimeout: 20 * time.Second, HaltPause: 5 * time.Second}, processor.Deps{
		Store: session{w.store, by}, Log: groupMember{w.cluster, w.group, by}, Results: groupMember{w.cluster, w.group, by},
		Logger: w.logger(100),
	})
	ctx, stop := context.WithCancel(context.Background())
	life := &processorLife{process: by, stop: stop}
	life.wait.Go(func() {
		if err := p.Run(ctx); err != nil && !by.isDead() {
			w.violate("a processor ends: %v", err)
		}
	})
	return life
}

// end ends the process; killed: nothing that it does from now on has an effect.
func (p *processorLife) end(killed bool) {
	if killed {
		p.process.die()
	}
	p.stop()
	p.wait.Wait()
}

func (w *world) processor(i int) *processorLife {
	w.processing.Lock()
	defer w.processing.Unlock()
	return w.processors[i]
}

// replaceProcessor ends a process, if it has not ended, and starts another.
func (w *world) replaceProcessor(i int) {
	w.processing.Lock()
	defer w.processing.Unlock()
	w.processors[i].end(true)
	w.processors[i] = w.startProcessor()
}
