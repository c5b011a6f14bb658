package statements

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// Recorder is a tracer of pgx that keeps every statement that is sent. Safe for
// concurrent use.
type Recorder struct {
	mu         sync.Mutex
	statements map[string]*Statement
	errs       []error
}

// NewRecorder makes a recorder without statements.
func NewRecorder() *Recorder { return &Recorder{statements: map[string]*Statement{}} }

// Statement is one statement that was sent, once or more often.
type Statement struct {
	SQL    string // as our code has it
	Args   []any  // of the first time
	Copied bool   // it was a COPY

	places map[Place]bool
}

// Place is a line of our code.
type Place struct {
	File string
	Line int
}

// At reports whether a call sent this statement.
func (s *Statement) At(c Call) bool {
	for line := c.FromLine; line <= c.ToLine; line++ {
		if s.places[Place{c.File, line}] {
			return true
		}
	}
	return false
}

// Statements returns what was sent, sorted by text. The error names the
// statements whose named arguments were not those in their text.
func (r *Recorder) Statements() ([]*Statement, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*Statement
	for _, s := range r.statements {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *Statement) int { return strings.Compare(a.SQL, b.SQL) })
	return list, errors.Join(r.errs...)
}

// TraceQueryStart implements pgx.QueryTracer.
func (r *Recorder) TraceQueryStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	r.add(ctx, conn, data.SQL, data.Args)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (r *Recorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements pgx.BatchTracer.
func (r *Recorder) TraceBatchStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	for _, q := range data.Batch.QueuedQueries {
		r.add(ctx, conn, q.SQL, q.Arguments)
	}
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (r *Recorder) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (r *Recorder) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// TraceCopyFromStart implements pgx.CopyFromTracer. A COPY is kept as an insert
// of several rows.
func (r *Recorder) TraceCopyFromStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceCopyFromStartData) context.Context {
	columns := make([]string, len(data.ColumnNames))
	for i, name := range data.ColumnNames {
		columns[i] = pgx.Identifier{name}.Sanitize()
	}
	sql := "insert into " + data.TableName.Sanitize() + " (" + strings.Join(columns, ", ") + ") select"
	r.add(ctx, conn, sql, nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.statements[sql]; s != nil {
		s.Copied = true
	}
	return ctx
}

// TraceCopyFromEnd implements pgx.CopyFromTracer.
func (r *Recorder) TraceCopyFromEnd(context.Context, *pgx.Conn, pgx.TraceCopyFromEndData) {}

func (r *Recorder) add(ctx context.Context, conn *pgx.Conn, sql string, args []any) {
	err := namesArguments(ctx, conn, sql, args)
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.errs = append(r.errs, fmt.Errorf("%s: %w", sql, err))
		return
	}
	s := r.statements[sql]
	if s == nil {
		s = &Statement{SQL: sql, Args: args, places: map[Place]bool{}}
		r.statements[sql] = s
	}
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		s.places[Place{frame.File, frame.Line}] = true
	}
}

// namesArguments returns an error where a named argument is missing, or is not in the text.
// pgx.NamedArgs would send null for a missing one.
func namesArguments(ctx context.Context, conn *pgx.Conn, sql string, args []any) error {
	for _, arg := range args {
		if named, ok := arg.(pgx.NamedArgs); ok {
			_, _, err := pgx.StrictNamedArgs(named).RewriteQuery(ctx, conn, sql, nil)
			return err
		}
	}
	return nil
}
