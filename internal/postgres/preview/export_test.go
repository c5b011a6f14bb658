package preview

import (
	"context"
	"time"

	"github.com/tributary-io/tributary/internal/preview"
)

// TryWithin is Try with other limits.
func (s *Store) TryWithin(ctx context.Context, companyID string, change preview.Change, wait, held time.Duration) (preview.Tried, error) {
	return s.try(ctx, companyID, change, wait, held)
}
