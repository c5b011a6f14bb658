package postgres

import (
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATEs of a statement that names a table, column or function that is not there.
var notThere = []string{"42P01", "42703", "42883"}

// Advice is what an operator is told, in one line, of an error that another connection string,
// a started server or `tributary migrate` mends; "" for other errors. It has no password.
func Advice(err error) string {
	var unread *pgconn.ParseConfigError
	var refused *pgconn.ConnectError
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &unread):
		return unread.Error() + ": write it as postgres://user@host/database"
	case errors.As(err, &refused) && errors.As(refused, &pg): // one of the attempts, over TLS and without, has PostgreSQL's own answer
		return "PostgreSQL refuses the connection: " + pg.Message + ": " + ofRefusal(pg.Code)
	case errors.As(err, &refused):
		return "PostgreSQL cannot be reached: " + firstCause(refused) + ": start it, or correct --postgres or $TRIBUTARY_POSTGRES"
	case errors.As(err, &pg) && slices.Contains(notThere, pg.Code):
		return "PostgreSQL's schema is not that of this program (" + pg.Message + "): run `tributary migrate`"
	case isDenied(err):
		return "PostgreSQL refuses this role (" + pg.Message +
			"): run `tributary migrate --grant ROLE` as the tables' owner, or give the owner's role"
	}
	return ""
}

// ofRefusal is what mends a connection that PostgreSQL refused with a SQLSTATE.
func ofRefusal(code string) string {
	const correct = "correct --postgres or $TRIBUTARY_POSTGRES"
	switch code {
	case "28P01":
		return "wrong password, or there is no such role: " + correct
	case "28000":
		return "there is no such role, or pg_hba.conf does not let it in: make it, or " + correct
	case "3D000":
		return "there is no such database: make it, or " + correct
	}
	return correct
}

// firstCause is a connection's error without its repetitions: of each address, over TLS and
// without, it has a line.
func firstCause(err error) string {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	cause := lines[0]
	if len(lines) > 1 {
		cause += " " + strings.TrimSpace(lines[1])
	}
	return cause
}
