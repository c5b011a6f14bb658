package history

import (
	"fmt"
	"math"
	"time"

	"github.com/anishathalye/porcupine"
)

// The model is a log that is only appended to. Its state is how many events it
// holds. An append of the event that was found at position p is possible when the
// log holds p events, and one of an event that is not in the log never is. The
// last read, after everything else, sees as many events as were appended.
//
// The checker looks for an order of all operations, in which each takes effect at
// one moment between its invocation and its acknowledgement, that the model can
// take. It finds none if an acknowledged event is missing, if an event stands
// before one that was acknowledged before it was sent, or if the log holds one
// that nobody sent.
//
// An event that was never acknowledged may take effect at any time from its
// invocation on. If it is not in the log it had none, and is left out: it could be
// placed behind everything else.

// operation is what the model is asked for.
type operation struct {
	id       string
	position int // where the event's first copy stands; missing: nowhere
	after    int // where the one before it in its request stands; missing: there is none
	read     int // the last read: how many events the log holds; missing: this is an append
}

const missing = -1

var model = porcupine.Model{
	Init: func() any { return 0 },
	Step: func(state, input, _ any) (bool, any) {
		length, op := state.(int), input.(operation)
		if op.read != missing {
			return op.read == length, length
		}
		return op.position == length && op.after < op.position, length + 1
	},
	DescribeOperation: func(input, _ any) string {
		op := input.(operation)
		if op.read != missing {
			return fmt.Sprintf("read %d events", op.read)
		}
		return fmt.Sprintf("append %s, found at %d", op.id, op.position)
	},
}

// checkerTimeout bounds the checker for one company. Histories of these faults
// take it well under a second.
const checkerTimeout = 2 * time.Minute

// linearize tells why no log explains a company's events; empty: one does.
func linearize(events map[string]*Event, position map[string]int) string {
	place := func(id string) int {
		if at, stored := position[id]; stored {
			return at
		}
		return missing
	}
	end := time.Duration(0)
	var operations []porcupine.Operation
	for _, e := range events {
		op := operation{id: e.ID, position: place(e.ID), after: missing, read: missing}
		if e.Before != "" {
			op.after = place(e.Before)
		}
		if op.position == missing && !e.Acked {
			continue
		}
		answered := int64(math.MaxInt64)
		if e.Acked {
			answered, end = int64(e.Answered), max(end, e.Answered)
		}
		end = max(end, e.Invoked)
		operations = append(operations, porcupine.Operation{ClientId: e.Client, Input: op, Call: int64(e.Invoked), Return: answered})
	}
	operations = append(operations, porcupine.Operation{
		Input: operation{read: len(position)}, Call: int64(end) + 1, Return: int64(end) + 2,
	})
	result, info := porcupine.CheckOperationsVerbose(model, operations, checkerTimeout)
	switch result {
	case porcupine.Ok:
		return ""
	case porcupine.Unknown:
		return fmt.Sprintf("the checker did not end within %v", checkerTimeout)
	}
	longest := 0
	for _, partial := range info.PartialLinearizationsOperations() {
		for _, order := range partial {
			longest = max(longest, len(order))
		}
	}
	return fmt.Sprintf("not linearizable: a log explains %d of %d operations", longest, len(operations))
}
