package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

// erasureRecord is an erasure as it is answered.
type erasureRecord struct {
	ID    string `json:"id"`
	State string `json:"state"` // commerce.Erasing…
}

// erasureState is an erasure with how far it is, and what is to be passed on.
type erasureState struct {
	erasureRecord
	Orders          int64            `json:"orders"`
	Events          int64            `json:"events"`
	Exports         []string         `json:"exports"` // it waits for
	Conversions     []toldConversion `json:"conversions"`
	ConversionsMore bool             `json:"conversions_more"`
}

// toldConversion is an order of the person that a network was told of.
type toldConversion struct {
	Network commerce.DestinationKind `json:"network"`
	Account string                   `json:"account"`
	OrderID string                   `json:"orderId"`
	BegunAt string                   `json:"begun_at"`
	SentAt  *string                  `json:"sent_at"` // null: it is not known whether the network took it
}

// getErasure is GET /erasures/{id}.
func (s *Server) getErasure(ctx context.Context, r *http.Request, c caller) (answer, error) {
	id := strings.ToLower(r.PathValue("id"))
	if !uuidtext.Is(id) {
		return answer{}, noErasure()
	}
	e, err := s.deps.Database.Erasure(ctx, c.companyID, id)
	if err != nil {
		return answer{}, missing(err, noErasure())
	}
	list, more, err := s.deps.Database.ErasedConversions(ctx, c.companyID, id)
	record := erasureState{erasureRecord: erasureRecord{e.ErasureID, e.State}, Orders: e.Orders, Events: e.Events,
		Exports: append([]string{}, e.Exports...), Conversions: make([]toldConversion, len(list)), ConversionsMore: more}
	for i, t := range list {
		record.Conversions[i] = toldConversion{t.Network, t.Account, t.OrderID, t.BegunAt.UTC().Format(timestampFormat),
			instantOrNull(t.SentAt)}
	}
	return answer{data: record}, err
}

func noErasure() *problem { return notFound("there is no erasure with that id") }

// erase is POST /erasures: asks to remove a person. What names the person goes no further
// than its keyed hashes.
func (s *Server) erase(_ context.Context, c caller, o object) (change, error) {
	person, keys := readSubject(c, o)
	return func(ctx context.Context, author commerce.Author) (answer, error) {
		e, err := s.deps.Database.AskErasure(ctx, author, person.Kinds(), keys, s.random)
		if errors.Is(err, commerce.ErrTooManyErasures) {
			return answer{}, o.refuse(person.Kinds()[0], commerce.CodeTooMany,
				"%d erasures are not done yet: ask again when some are", commerce.MaxErasing)
		}
		if err != nil {
			return answer{}, err
		}
		return answer{data: erasureRecord{e.ErasureID, e.State}}, nil
	}, o.broken()
}

// readSubject reads whom a body names. What names nobody breaks a rule.
func readSubject(c caller, o object) (person commerce.DataSubject, keys []facts.Key) {
	person = commerce.DataSubject{
		Email: optional(o, "email", given).Value, Phone: optional(o, "phone", given).Value,
		CustomerID: optional(o, "customer_id", given).Value, Visitor: optional(o, "visitor", given).Value,
	}
	if !o.bad.Any() {
		o.bad.AddAll(person.Check())
	}
	keys, wrong := facts.SubjectKeys(person, c.keys)
	for _, field := range wrong {
		o.bad.Add(field, commerce.CodeInvalidValue, "names nobody: no order and no visit can have it")
	}
	return person, keys
}

// exportPath is the route that reads what is stored about a person. It is a POST, since who it is does not belong into an
// address, which proxies write into their logs.
const exportPath = "/exports"

// Bounds of an export. Its data are in memory until they are sent.
const (
	exportBytes   = 8 << 20
	exportTime    = 30 * time.Second
	exportsAtOnce = 2
)

// export is POST /exports: all that is stored about a person, as far as there is room. The audit log says so before it is read, not
// who it is.
func (s *Server) export(w http.ResponseWriter, r *http.Request, c caller) (answer, error) {
	o, err := readObject(w, r)
	if err != nil {
		return answer{}, err
	}
	person, keys := readSubject(c, o)
	if err := o.broken(); err != nil {
		return answer{}, err
	}
	if err := s.takeTurn(r.Context(), s.exports); err != nil {
		return answer{}, err
	}
	defer func() { <-s.exports }()
	ctx, cancel := context.WithTimeout(r.Context(), exportTime)
	defer cancel()
	now := s.now()
	author := commerce.Author{CompanyID: c.companyID, Actor: c.actor, At: now}
	if err := s.deps.Database.LogExport(ctx, author, person.Kinds(), s.random); err != nil {
		return answer{}, err
	}
	var file bytes.Buffer
	asked := commerce.PersonFile{CompanyID: c.companyID, At: now, Kinds: person.Kinds(), MostBytes: exportBytes}
	if err := s.deps.Database.WritePerson(ctx, asked, keys, &file); err != nil {
		return answer{}, err
	}
	return answer{data: json.RawMessage(file.Bytes())}, nil
}
