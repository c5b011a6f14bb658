package replay

import (
	"context"

	"github.com/tributary-io/tributary/internal/postgres/upkeep"
	"github.com/tributary-io/tributary/internal/upkeep/books"
)

// Imbalances returns the days on which a model's credits are not what the approved orders
// come to, the first most of them and one more where there are others.
func (s *Snapshot) Imbalances(ctx context.Context, most int) (list []books.Imbalance, err error) {
	for _, company := range s.Companies {
		found, err := upkeep.AllImbalances(ctx, s.tx, company, most+1-len(list))
		if err != nil {
			return nil, err
		}
		if list = append(list, found...); len(list) > most {
			break
		}
	}
	return list, nil
}
