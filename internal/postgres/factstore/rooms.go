package factstore

import (
	retentionsql "github.com/tributary-io/tributary/internal/postgres/retention"
	"github.com/tributary-io/tributary/internal/upkeep/retention"
)

// Retention returns the statements of the removal of old events.
func (t *Tx) Retention() retention.Store { return retentionsql.In(t.tx) }
