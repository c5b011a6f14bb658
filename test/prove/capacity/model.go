// Package capacity is the model behind docs/capacity.md, and the part of `make prove` that measures whether it predicts.
//
// What may enter: the model, a load, and reading what the real programs cost.
package capacity

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
)

// Machine is how fast a machine is.
type Machine struct {
	CPU         float64 // time of one of its processors, of that of Reference's
	Transaction float64 // seconds that a transaction of the processor takes
}

// Reference is the machine of docs/capacity.md when nothing else ran on it.
var Reference = Machine{CPU: 1, Transaction: 0.01}

// machine is how fast the machine was while m was measured, but for its transactions, which are those of another load: the model is to
// predict how many m has.
func (m Measured) machine(other Measured) Machine {
	return Machine{CPU: m.Work / coefficients().Work, Transaction: other.Costs.TransactionTime / max(1, other.Costs.Transactions)}
}

// Traffic is what comes to one installation in a time.
type Traffic struct {
	Seconds    float64 // how long it comes: what costs something when nothing comes follows from it
	Stores     int
	Visits     float64 // of new visitors
	Requests   float64 // with events
	Events     float64
	EventBytes float64 // of the events' JSON, all together
	Orders     float64
	Clicks     float64 // on short links
}

// Costs are seconds of CPU time, bytes on disk and bytes of memory.
type Costs struct {
	EdgeCPU, AdminCPU, ProcessorCPU, PostgresCPU, KafkaCPU float64 // seconds
	Tables, WAL                                            float64 // bytes, of PostgreSQL
	Log                                                    float64 // bytes on Kafka, of each replica
	Spool                                                  float64 // bytes, if Kafka were away all the time
	EdgeMemory, AdminMemory, ProcessorMemory               float64 // bytes
	Transactions                                           float64 // of the processor; they explain the others
	TransactionTime                                        float64 // seconds that they took, all together
}

func (c *Costs) all() map[string]*float64 {
	return map[string]*float64{"edge-cpu": &c.EdgeCPU, "admin-cpu": &c.AdminCPU, "processor-cpu": &c.ProcessorCPU,
		"postgres-cpu": &c.PostgresCPU, "kafka-cpu": &c.KafkaCPU, "tables": &c.Tables, "wal": &c.WAL, "log": &c.Log, "spool": &c.Spool,
		"edge-memory": &c.EdgeMemory, "admin-memory": &c.AdminMemory, "processor-memory": &c.ProcessorMemory}
}

// figures are the costs by name.
func (c Costs) figures() map[string]float64 {
	figures := map[string]float64{}
	for name, of := range c.all() {
		figures[name] = *of
	}
	return figures
}

// minus is what was added since before; memory is what it is.
func (c Costs) minus(before Costs) Costs {
	for _, of := range []struct{ now, then *float64 }{
		{&c.EdgeCPU, &before.EdgeCPU}, {&c.AdminCPU, &before.AdminCPU}, {&c.ProcessorCPU, &before.ProcessorCPU},
		{&c.PostgresCPU, &before.PostgresCPU}, {&c.KafkaCPU, &before.KafkaCPU}, {&c.Tables, &before.Tables}, {&c.WAL, &before.WAL},
		{&c.Log, &before.Log}, {&c.Transactions, &before.Transactions},
		{&c.TransactionTime, &before.TransactionTime},
	} {
		*of.now -= *of.then
	}
	return c
}

// unit is one thing that costs something.
type unit struct {
	name  string // in docs/capacity.md and in fitted.json
	count func(Traffic, Machine) float64
	of    string // the figures that it has a part in
}

// units are what the model is made of. What a unit cannot cost by how the programs work it has no part in: admin never sees an event.
var units = []unit{
	{"hour", func(t Traffic, _ Machine) float64 { return t.Seconds / 3600 }, "edge-cpu admin-cpu processor-cpu postgres-cpu kafka-cpu"},
	{"transaction", transactions, "processor-cpu postgres-cpu wal"},
	{"request", func(t Traffic, _ Machine) float64 { return t.Requests }, "edge-cpu processor-cpu kafka-cpu log"},
	{"event", func(t Traffic, _ Machine) float64 { return t.Events }, "edge-cpu processor-cpu postgres-cpu log tables wal spool"},
	{"KB of events", func(t Traffic, _ Machine) float64 { return t.EventBytes / 1000 },
		"edge-cpu kafka-cpu log tables wal spool"},
	{"visit", func(t Traffic, _ Machine) float64 { return t.Visits }, "postgres-cpu tables wal"},
	{"order", func(t Traffic, _ Machine) float64 { return t.Orders },
		"admin-cpu processor-cpu postgres-cpu kafka-cpu log tables wal"},
	{"click", func(t Traffic, _ Machine) float64 { return t.Clicks },
		"edge-cpu processor-cpu postgres-cpu kafka-cpu log tables wal"},
}

// transactions are those of the processor. What comes for a store while one of its transactions runs waits and shares the next one: of what
// comes at random, a store's next transaction begins when one has ended or, if nothing came meanwhile, when something comes.
func transactions(t Traffic, on Machine) float64 {
	each := (t.Requests + t.Orders + t.Clicks) / t.Seconds / float64(t.Stores) // a second, of one store
	if each == 0 {
		return 0
	}
	return t.Seconds * float64(t.Stores) / (on.Transaction + math.Exp(-each*on.Transaction)/each)
}

// fitted are the coefficients by unit and figure: seconds and bytes; of memory, which nothing here changes, bytes by figure. Command fit
// writes them.
//
//go:embed fitted.json
var fitted []byte

// Coefficients are what one of each unit costs.
type Coefficients struct {
	Machine string                        `json:"machine"` // where they were measured, and how busy it was
	Work    float64                       `json:"work"`    // CPU seconds that a piece of work takes there (speed.go)
	Units   map[string]map[string]float64 `json:"units"`
	Memory  map[string]float64            `json:"memory"`
}

var coefficients = sync.OnceValue(func() (c Coefficients) {
	if err := json.Unmarshal(fitted, &c); err != nil {
		panic(fmt.Errorf("fitted.json: %w", err)) // it is compiled in, and a test reads it
	}
	return c
})

// one is what one of a unit costs.
func (c Coefficients) one(u unit) (costs Costs) {
	for name, into := range costs.all() {
		*into = c.Units[u.name][name]
	}
	return costs
}

// Predict is what traffic costs on a machine.
func Predict(t Traffic, on Machine) (sum Costs) {
	c := coefficients()
	for name, into := range sum.all() {
		*into = c.Memory[name]
		for _, u := range units {
			part := u.count(t, on) * c.Units[u.name][name]
			if strings.HasSuffix(name, "-cpu") {
				part *= on.CPU
			}
			*into += part
		}
	}
	return sum
}
