package admin

import (
	"fmt"
	"slices"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
)

// readDetails reads and checks the details of an influencer. Where they say where money goes, the key
// needs a scope of its own.
func readDetails(c caller, o object) (asked commerce.DetailsChange, err error) {
	d := optional(o, "details", o.below("details"))
	if !d.Valid {
		return asked, nil
	}
	in := d.Value
	asked = commerce.DetailsChange{
		Email: optional(in, "email", text), Phone: optional(in, "phone", label), Document: optional(in, "document", label),
		Notes: optional(in, "notes", text), Handles: optional(in, "handles", texts),
	}
	switch pix := optional(in, "pix", in.below("pix")); {
	case pix.Valid:
		asked.Pix = wire.Some(commerce.Pix{Type: required(pix.Value, "type", word), Key: required(pix.Value, "key", label)})
	case pix.Present:
		asked.Pix = wire.Null[commerce.Pix]()
	}
	if asked.OfPayee() && !c.has(account.WritePayees) {
		return asked, missingScope(account.WritePayees)
	}
	o.bad.AddAll(asked.Check(func(raw string) string { return identity.NormalPhone(raw, c.country) }))
	asked.Keys = facts.PartnerKeys(asked, c.keys)
	return asked, nil
}

// texts reads a list of texts; commerce bounds it.
func texts(value any) ([]string, *fault) {
	elements, f := array(commerce.MaxHandles)(value)
	if f != nil {
		return nil, f
	}
	list := make([]string, len(elements))
	for i, element := range elements {
		if list[i], f = text(element); f != nil {
			return nil, &fault{f.code, fmt.Sprintf("has an element that %s", f.message)}
		}
	}
	return list, nil
}

// refusePayee says what a registration may not overwrite.
func refusePayee(o object, known *commerce.PayeeKnownError) error {
	for _, field := range known.Fields {
		o.bad.Add("details."+field, commerce.CodeConflict, "is known already, and is another: PUT /influencers changes it")
	}
	return brokenRules(o.bad)
}

// detailsRecord is what is known of an influencer's person.
type detailsRecord struct {
	Email    string                   `json:"email,omitempty"`
	Phone    string                   `json:"phone,omitempty"`
	Document string                   `json:"document,omitempty"`
	Pix      *pixRecord               `json:"pix,omitempty"`
	Handles  []string                 `json:"handles,omitempty"`
	Notes    string                   `json:"notes,omitempty"`
	Changed  map[string]touchedRecord `json:"changed,omitempty"`
	Masked   bool                     `json:"masked"`
}

type pixRecord struct {
	Type string `json:"type"`
	Key  string `json:"key"`
}

// touchedRecord says when a field last changed, and by whom.
type touchedRecord struct {
	At string `json:"at"`
	By string `json:"by"`
}

// recordDetails returns details as a key may see them; nil where nothing is known.
func recordDetails(d commerce.Details, whole bool) *detailsRecord {
	if none := (commerce.Details{}); len(d.Differs(&none)) == 0 && len(d.Changed) == 0 {
		return nil
	}
	if !whole {
		d = d.Masked()
	}
	record := &detailsRecord{Email: d.Email, Phone: d.Phone, Document: d.Document, Handles: d.Handles, Notes: d.Notes, Masked: !whole}
	if d.Pix.Type != "" {
		record.Pix = &pixRecord{d.Pix.Type, d.Pix.Key}
	}
	for name, touched := range d.Changed {
		if record.Changed == nil {
			record.Changed = map[string]touchedRecord{}
		}
		record.Changed[name] = touchedRecord{touched.At.UTC().Format(timestampFormat), touched.Actor}
	}
	return record
}

// has reports whether the caller's key has a scope.
func (c caller) has(scope account.Scope) bool { return slices.Contains(c.scopes, scope) }

// seesPayees reports whether the caller may see influencers' details whole.
func (c caller) seesPayees() bool { return c.has(account.ReadPayees) || c.has(account.WritePayees) }
