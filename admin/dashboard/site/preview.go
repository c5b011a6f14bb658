package site

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/preview"
)

// Previews says what a change would move. internal/preview.Previewer is one.
type Previews interface {
	// Preview returns the change's error where it is refused, and commerce.ErrUnavailable
	// where it cannot be found out now.
	Preview(ctx context.Context, companyID string, change preview.Change) (*preview.Answer, error)
}

// previewTime bounds a preview: what is left of Timeout is for saving.
const previewTime = 7 * time.Second

// ErrNoPreview says that what a change would move cannot be found out now. The change can
// be saved all the same.
var ErrNoPreview = errors.New("dashboard: no preview now")

// Preview returns what a change would move. An error is ErrNoPreview or the change's own.
func Preview(ctx context.Context, previews Previews, companyID string, change preview.Change) (*preview.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, previewTime)
	defer cancel()
	var refused error
	answer, err := previews.Preview(ctx, companyID, func(ctx context.Context) error {
		refused = change(ctx)
		return refused
	})
	switch {
	case err == nil:
		return answer, nil
	case refused != nil && ctx.Err() == nil && !errors.Is(err, commerce.ErrUnavailable):
		return nil, refused
	}
	return nil, fmt.Errorf("%w: %w", ErrNoPreview, err)
}
