package dashboard

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin/statementlink"
	"github.com/tributary-io/tributary/internal/commerce"
)

// brokenStore fails when it is asked for a linked statement.
type brokenStore struct{ Database }

func (brokenStore) LinkedStatement(context.Context, string, string, string, int64) (commerce.Statement, error) {
	return commerce.Statement{}, errors.New("the database is broken")
}

// Whoever reads the log must not be able to open a statement by it.
func TestTheLogHasNoLinkToAStatement(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s, err := New(Config{TokenSecret: bytes.Repeat([]byte("t"), 32)}, Deps{
		Database: brokenStore{}, Log: slog.New(slog.NewTextHandler(&log, nil)), Hints: func(context.Context, func([]byte) error) error {
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	const id = "0195b2c0-0000-7000-8000-00000000000f"
	links, err := statementlink.NewSigner(bytes.Repeat([]byte("t"), 32), nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := links.Token(statementlink.Link{CompanyID: "c_1", StatementID: id, InfluencerID: id, Expires: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	out := httptest.NewRecorder()
	s.ServeHTTP(out, httptest.NewRequest(http.MethodGet, statementlink.Path+token, nil))
	if out.Code != http.StatusServiceUnavailable || !strings.Contains(log.String(), "the database is broken") ||
		!strings.Contains(log.String(), statementlink.Path) {
		t.Errorf("%d, and the log is %q", out.Code, log.String())
	}
	if strings.Contains(log.String(), token) {
		t.Errorf("the log has the link: %s", log.String())
	}
}
