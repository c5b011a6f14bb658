package factstore

import (
	"context"
	"encoding/binary"
	"io"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/tributary-io/tributary/internal/facts"
)

// This file writes events as COPY's binary format. pgx's own CopyFrom asks the server for
// the columns' types each time, and finds out for each value how to write it.

var eventColumns = []string{"event_id", "at", "class", "company_id", "name", "visitor", "sources", "record"}

const copyEvents = `copy event_fact (event_id, at, class, company_id, name, visitor, sources, record) from stdin (format binary)`

// copyRows runs copyEvents.
func copyRows(ctx context.Context, conn *pgx.Conn, rows *eventCopy) error {
	_, err := conn.PgConn().CopyFrom(traced(ctx, conn), rows, copyEvents)
	return err
}

// traced shows the COPY to the connection's tracer, as pgx's own CopyFrom does.
func traced(ctx context.Context, conn *pgx.Conn) context.Context {
	tracer, ok := conn.Config().Tracer.(pgx.CopyFromTracer)
	if !ok {
		return ctx
	}
	return tracer.TraceCopyFromStart(ctx, conn, pgx.TraceCopyFromStartData{TableName: pgx.Identifier{"event_fact"}, ColumnNames: eventColumns})
}

// eventCopy gives the rows of events, in the order of eventColumns, in COPY's binary format
// (PostgreSQL, "COPY", "Binary Format"). It is an io.Reader.
type eventCopy struct {
	companyID string
	events    []facts.Event
	written   []byte // and and not yet read
	place     int    // in written
	begun     bool
	ended     bool
}

const (
	copyHeader  = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00" // no flags, and no more of a header
	copyTrailer = "\xff\xff"
	absent      = "\xff\xff\xff\xff" // the length of null
)

// Read implements io.Reader.
func (c *eventCopy) Read(into []byte) (n int, err error) {
	for n < len(into) {
		if c.place == len(c.written) && !c.next(len(into)) {
			if n == 0 {
				return 0, io.EOF
			}
			return n, nil
		}
		copied := copy(into[n:], c.written[c.place:])
		n, c.place = n+copied, c.place+copied
	}
	return n, nil
}

// next writes about so many bytes of rows. It returns false where none are left.
func (c *eventCopy) next(bytes int) bool {
	c.written, c.place = c.written[:0], 0
	if !c.begun {
		c.written, c.begun = append(c.written, copyHeader...), true
	}
	for len(c.events) > 0 && len(c.written) < bytes {
		c.written = c.appendRow(c.written, &c.events[0])
		c.events = c.events[1:]
	}
	if len(c.events) == 0 && !c.ended {
		c.written, c.ended = append(c.written, copyTrailer...), true
	}
	return len(c.written) > 0
}

func (c *eventCopy) appendRow(dst []byte, e *facts.Event) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(eventColumns)))
	dst = appendField(dst, e.ID[:])
	dst = binary.BigEndian.AppendUint32(dst, 8)
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.At.UnixMicro()-postgresEpoch))
	dst = binary.BigEndian.AppendUint32(dst, 2)
	dst = binary.BigEndian.AppendUint16(dst, uint16(e.Class()))
	dst = appendField(dst, c.companyID)
	dst = appendField(dst, e.Event.Event)
	if visitor := e.PackedVisitor(); visitor != nil {
		dst = appendField(dst, visitor)
	} else {
		dst = append(dst, absent...)
	}
	dst = appendSources(dst, e.Sources())
	return appendField(dst, e.Packed())
}

// postgresEpoch is from when PostgreSQL counts microseconds.
var postgresEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

// appendField writes a value behind its length.
func appendField[T string | []byte](dst []byte, value T) []byte {
	return append(binary.BigEndian.AppendUint32(dst, uint32(len(value))), value...)
}

// appendSources writes facts.Event.Sources as an array of bytea.
func appendSources(dst []byte, list [][]byte) []byte {
	if list == nil {
		return append(dst, absent...)
	}
	begin := len(dst)
	// its length, below; one dimension, with nulls, of bytea, so many from number 1 on
	for _, part := range [...]uint32{0, 1, 1, pgtype.ByteaOID, uint32(len(list)), 1} {
		dst = binary.BigEndian.AppendUint32(dst, part)
	}
	for _, source := range list {
		if source == nil {
			dst = append(dst, absent...)
			continue
		}
		dst = appendField(dst, source)
	}
	binary.BigEndian.PutUint32(dst[begin:], uint32(len(dst)-begin-4))
	return dst
}
