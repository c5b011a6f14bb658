package factstore

import (
	sql "github.com/tributary-io/tributary/internal/postgres/upkeep"
	"github.com/tributary-io/tributary/internal/upkeep/delivery"
	"github.com/tributary-io/tributary/internal/upkeep/erasure"
	"github.com/tributary-io/tributary/internal/upkeep/nonconverting"
	"github.com/tributary-io/tributary/internal/upkeep/retention"
	"github.com/tributary-io/tributary/internal/upkeep/statements"
)

// This file has the stores of what the processor does beside applying records, in the same
// transaction.

// Delivery keeps the delivery ledger.
func (t *Tx) Delivery() delivery.Store { return sql.DeliveryIn(t.tx) }

// Erasure has the steps of erasures.
func (t *Tx) Erasure() erasure.Store { return sql.ErasureIn(t.tx, t) }

// Erased tells a batch who is erased.
func (t *Tx) Erased() erasure.Known { return sql.ErasureIn(t.tx, t) }

// NonConvertingPaths counts non-converting paths.
func (t *Tx) NonConvertingPaths() nonconverting.Store { return sql.NonConvertingPathsIn(t.tx) }

// Retention removes old events.
func (t *Tx) Retention() retention.Store { return sql.RetentionIn(t.tx) }

// Statements closes statements.
func (t *Tx) Statements() statements.Store { return sql.StatementsIn(t.tx) }
