package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

// codeEntryExists is the code of the error about another entry with the id.
const codeEntryExists = "entry_exists"

// addedEntry is the data of POST /ledger.
type addedEntry struct {
	EntryID string `json:"entry_id"` // as GET /ledger has it, once it is processed
}

// addEntry is POST /ledger: a manual entry. It is on Kafka before the 200.
func (s *Server) addEntry(ctx context.Context, _ *http.Request, c caller, o object) (answer, error) {
	_, today, err := s.deps.Database.Today(ctx, c.companyID, s.now())
	if err != nil {
		return answer{}, err
	}
	e := commerce.NewEntry{
		EntryID:      strings.ToLower(required(o, "entry_id", given)),
		InfluencerID: strings.ToLower(required(o, "influencer_id", given)),
		Kind:         required(o, "kind", word),
		Currency:     required(o, "currency", capitals),
		Day:          optional(o, "date", day).Or(today),
		Reason:       strings.TrimSpace(required(o, "reason", text)),
	}
	e.AmountMinor = optional(o, "amount", money(e.Currency)).Value
	o.bad.AddAll(e.Check(today))
	if err := o.broken(); err != nil {
		return answer{}, err
	}
	switch err := s.AddEntry(ctx, c.author(s.now()), e); {
	case errors.Is(err, commerce.ErrEntryExists):
		return answer{}, &problem{status: http.StatusConflict, code: codeEntryExists,
			message: "there is another entry with that entry_id; an entry never changes: undo it by an opposite adjustment"}
	case err != nil:
		return answer{}, missing(err, notFound("there is no influencer with that id"))
	}
	return answer{data: addedEntry{commerce.OfEntry + "/" + e.EntryID}}, nil
}

// AddEntry adds a manual entry that breaks no rule. It is on Kafka when it returns nil; the same one may be added again.
// Errors: commerce.ErrNotFound for an unknown influencer, commerce.ErrEntryExists.
func (s *Server) AddEntry(ctx context.Context, author commerce.Author, e commerce.NewEntry) error {
	accepted, err := s.deps.Database.ClaimEntry(ctx, author, e)
	if err != nil || accepted {
		return err
	}
	body, err := json.Marshal(wire.Entry{EntryID: e.EntryID, InfluencerID: e.InfluencerID, Kind: e.Kind, AmountMinor: e.PostedMinor(),
		Currency: e.Currency, Day: e.Day, Reason: e.Reason})
	if err != nil {
		return err
	}
	return s.accept(ctx, caller{companyID: author.CompanyID, actor: author.Actor}, wire.KindEntry, e.EntryID, body)
}
