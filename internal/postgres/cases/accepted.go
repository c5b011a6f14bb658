package cases

import (
	"context"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
)

// AcceptedEvents reads the stored events of a decision's touches into it, as Cases does
// for the decisions that are stored.
func (t Tx) AcceptedEvents(ctx context.Context, companyID string, d *facts.Decision) error {
	return postgres.Wrapf(t.acceptedEvents(ctx, companyID, d), "read accepted events")
}
