package e2e

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/packed"
	"github.com/tributary-io/tributary/internal/postgres/explained"
)

// unpackedRows reads what is stored packed, as the text that it stands for.
func unpackedRows(t *testing.T, conn *pgx.Conn) (all []stored) {
	t.Helper()
	for _, from := range []struct {
		table, column, where string
		unpack               func([]byte) ([]byte, error)
	}{
		{"payout", "explanation", "where explanation is not null", explained.Unpack}, {"evidence_snapshot", "body", "", explained.Unpack},
		{"orders", "body", "", packed.Order}, {"order_version", "body", "", packed.Order},
	} {
		rows, err := conn.Query(t.Context(), `select `+from.column+` from `+from.table+` `+from.where)
		if err != nil {
			t.Fatal(err)
		}
		bodies, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
		if err != nil {
			t.Fatal(err)
		}
		for _, body := range bodies {
			text, err := from.unpack(body)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, stored{place: "public." + from.table, text: search(string(text))})
		}
	}
	return all
}
