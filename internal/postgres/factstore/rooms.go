package factstore

import (
	erasuresql "github.com/tributary-io/tributary/internal/postgres/erasure"
	retentionsql "github.com/tributary-io/tributary/internal/postgres/retention"
	"github.com/tributary-io/tributary/internal/upkeep/erasure"
	"github.com/tributary-io/tributary/internal/upkeep/retention"
)

// Retention returns the statements of the removal of old events.
func (t *Tx) Retention() retention.Store { return retentionsql.In(t.tx) }

// Erasure returns the statements of the steps of erasures.
func (t *Tx) Erasure() erasure.Store { return erasuresql.In(t.tx, t) }

// Erased returns the statements by which a batch knows who is erased.
func (t *Tx) Erased() erasure.Known { return erasuresql.In(t.tx, t) }
