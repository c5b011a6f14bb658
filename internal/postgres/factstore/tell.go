package factstore

import (
	"context"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// Tell writes events for the company's other systems. events is called where a destination may want some.
func (t *Tx) Tell(ctx context.Context, companyID string, events func() ([]commerce.Event, error)) error {
	if t.telling == nil {
		t.telling = postgres.NewTelling(t.tx)
	}
	return t.telling.Tell(ctx, companyID, events)
}
