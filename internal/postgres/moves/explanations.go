package moves

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/postgres/explained"
)

// Migration 0051: explanations have a short form. The older ones are read still, so the way
// up changes nothing. The way back writes each in the form that the version before reads.

// explanationsTogether is how many explanations are written together. The number was chosen,
// not measured.
const explanationsTogether = 500

func shortExplanations(context.Context, *mover) error { return nil }

func wholeExplanations(ctx context.Context, m *mover) error {
	rows, err := m.read.Query(ctx, `select company_id, order_id, explanation from payout where get_byte(explanation, 0) = 3`)
	if err != nil {
		return err
	}
	defer rows.Close()
	var batch pgx.Batch
	write := func() error {
		if batch.Len() == 0 {
			return nil
		}
		err := m.write.SendBatch(ctx, &batch).Close()
		batch = pgx.Batch{}
		return err
	}
	var company, order string
	var stored []byte
	if _, err := pgx.ForEachRow(rows, []any{&company, &order, &stored}, func() error {
		text, err := explained.Unpack(stored)
		if err != nil {
			return fmt.Errorf("order %s of company %s: %w", order, company, err)
		}
		whole, err := explained.PackWhole(text)
		if err != nil {
			return err
		}
		batch.Queue(`update payout set explanation = $3 where company_id = $1 and order_id = $2`, company, order, whole)
		if batch.Len() < explanationsTogether {
			return nil
		}
		return write()
	}); err != nil {
		return err
	}
	return write()
}
