package cases

import (
	"context"
	"fmt"

	"github.com/tributary-io/tributary/internal/facts"
)

// AcceptedEvents reads the stored events of a decision's touches into it, as Cases does
// for the decisions that are stored.
func (t Tx) AcceptedEvents(ctx context.Context, companyID string, d *facts.Decision) error {
	if err := t.acceptedEvents(ctx, companyID, d); err != nil {
		return fmt.Errorf("read accepted events: %w", err)
	}
	return nil
}
