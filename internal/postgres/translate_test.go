package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tributary-io/tributary/internal/commerce"
)

func TestDriverErrorsBecomeOurKinds(t *testing.T) {
	f := func(err, want error) {
		t.Helper()
		got := Translate(fmt.Errorf("while reading: %w", err))
		if !errors.Is(got, want) || !errors.Is(got, err) {
			t.Errorf("Translate(%v) = %v, want %v", err, got, want)
		}
	}
	f(pgx.ErrNoRows, commerce.ErrNotFound)
	f(&pgconn.PgError{Code: "23505"}, commerce.ErrConflict)
	f(&pgconn.PgError{Code: "23P01"}, commerce.ErrConflict)
	f(&pgconn.PgError{Code: "57P01"}, commerce.ErrUnavailable)
	f(&pgconn.PgError{Code: "53300"}, commerce.ErrUnavailable)
	f(&pgconn.PgError{Code: "08006"}, commerce.ErrUnavailable)
	f(io.ErrUnexpectedEOF, commerce.ErrUnavailable)
	f(&net.OpError{Op: "read", Err: errors.New("reset")}, commerce.ErrUnavailable)
	f(context.DeadlineExceeded, commerce.ErrUnavailable)
	if got := Translate(&pgconn.PgError{Code: "22P02"}); errors.Is(got, commerce.ErrUnavailable) || errors.Is(got, commerce.ErrConflict) {
		t.Errorf("a wrong statement is %v", got)
	}
	if Translate(nil) != nil {
		t.Error("no error became one")
	}
}
