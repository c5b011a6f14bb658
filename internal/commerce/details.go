package commerce

import (
	"bytes"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/uuidtext"
	"github.com/tributary-io/tributary/internal/wire"
)

// Details are what names and reaches an influencer, and where money goes. They are personal data:
// they stand in one table, and in no log, record of Kafka, audit entry or error. An empty field is
// not known.
type Details struct {
	Email    string // lower case
	Phone    string // E.164
	Document string // as NormalDocument returns it
	Pix      Pix
	Handles  []string // in social networks, as typed
	Notes    string

	PixConfirmed bool // by a second person, since the key changed
	// EmailBefore is the e-mail before it last changed, or before the first of several changes within LogInRest.
	EmailBefore string

	// When and by whom each of PayeeFields last changed, by its name; also when it was cleared.
	Changed map[string]Touched
}

// FormerEmail returns the address at which the influencer is told that PayeeFields changed: not one that came within LogInRest
// in the place of another. Empty: none is known.
func (d *Details) FormerEmail(at time.Time) string {
	changed := d.Changed[DetailEmail].At
	switch {
	case d.EmailBefore != "" && (d.Email == "" || changed.After(at.Add(-LogInRest))):
		return d.EmailBefore
	case changed.After(at.Add(-PixRest)): // it is new itself
		return ""
	}
	return d.Email
}

// PixChangedSince reports whether the key changed after the last payment; a zero time: nothing was paid.
func (d *Details) PixChangedSince(paid time.Time) bool {
	return !paid.IsZero() && d.Changed[DetailPix].At.After(paid)
}

// Pix is a key of Brazil's instant payments. Its type is chosen and never guessed: eleven digits
// may be a CPF or a phone.
type Pix struct {
	Type string // one of PixTypes; empty: there is no key
	Key  string // as the bank takes it: digits, E.164, an address in lower case, a UUID
}

// Types of Pix keys (Bacen, Manual Operacional do DICT).
const (
	PixCPF    = CPF
	PixCNPJ   = CNPJ
	PixPhone  = "phone"
	PixEmail  = "email"
	PixRandom = "random" // "chave aleatória" (EVP): a UUID
)

// PixTypes lists the types of Pix keys.
var PixTypes = []string{PixCPF, PixCNPJ, PixPhone, PixEmail, PixRandom}

// Touched says when and by whom something was changed.
type Touched struct {
	At    time.Time
	Actor string // as Author.Actor
}

// Fields of Details, as they are named in the API, in forms and in the audit log.
const (
	DetailEmail    = "email"
	DetailPhone    = "phone"
	DetailDocument = "document"
	DetailPix      = "pix"
	DetailHandles  = "handles"
	DetailNotes    = "notes"
)

// PayeeFields are the fields that say where money goes, and who is told of it. To change them is a
// right of its own, and registering a known influencer never changes them.
var PayeeFields = []string{DetailEmail, DetailDocument, DetailPix}

// Bounds of details.
const (
	MaxHandles  = 10
	MaxHandle   = 200 // characters of each
	MaxNotes    = 2000
	maxEmail    = 254 // bytes: RFC 5321, 4.5.3.1.3, less the brackets
	maxPixEmail = 77  // DICT
)

// DetailsChange says which details change. A field that is absent stays, and null or an empty text
// clears it.
type DetailsChange struct {
	Email, Phone, Document, Notes wire.Optional[string]
	Pix                           wire.Optional[Pix]
	Handles                       wire.Optional[[]string]

	Keys []IdentityKey // of the new values: the caller adds them after Check (facts.PartnerKeys)
}

// A key that more than MostOwnOrders orders of the last SharedDays days have when it is added names nobody.
const (
	MostOwnOrders = 20
	SharedDays    = 30
)

// IdentityKey is a keyed hash by which orders name the influencer as their customer, as it is stored.
type IdentityKey struct {
	Field string // which detail it is made of
	Kind  int16  // facts.KeyKind.Code
	Key   []byte // facts.Key.Pack
}

// Is reports whether two are one hash, of whichever detail.
func (k IdentityKey) Is(other IdentityKey) bool {
	return k.Kind == other.Kind && bytes.Equal(k.Key, other.Key)
}

// Contacts are the details of an influencer of which keyed hashes are made.
type Contacts struct{ InfluencerID, Email, Phone, Document string }

// ContactKeys makes the keyed hashes of contacts. Country is the company's: phones are read by it.
type ContactKeys func(companyID, country string, c Contacts) []IdentityKey

// ContactsPlace is a place in the walk over all companies' influencers; the zero value is before the first.
type ContactsPlace struct{ CompanyID, InfluencerID string }

// Fields returns the names of the fields that the change has.
func (c *DetailsChange) Fields() (names []string) {
	for _, f := range []struct {
		name    string
		present bool
	}{{DetailEmail, c.Email.Present}, {DetailPhone, c.Phone.Present}, {DetailDocument, c.Document.Present}, {DetailPix, c.Pix.Present},
		{DetailHandles, c.Handles.Present}, {DetailNotes, c.Notes.Present}} {
		if f.present {
			names = append(names, f.name)
		}
	}
	return names
}

// OfPayee reports whether the change has one of PayeeFields.
func (c *DetailsChange) OfPayee() bool {
	return slices.ContainsFunc(c.Fields(), func(name string) bool { return slices.Contains(PayeeFields, name) })
}

// Check returns every rule that the values break, and writes those that break none as they are stored.
// phone returns a number as E.164, "" for none, as the keyed hashes of orders read it. No message has a value.
func (c *DetailsChange) Check(phone func(raw string) string) (bad Violations) {
	at := place{name: "details"}
	c.Email.Value = strings.TrimSpace(c.Email.Value)
	if c.Email.Value != "" {
		if c.Email.Value = normalEmail(c.Email.Value); c.Email.Value == "" {
			bad.Add(at.field(DetailEmail), CodeInvalidValue, "is no e-mail address")
		}
	}
	if c.Phone.Value = strings.TrimSpace(c.Phone.Value); c.Phone.Value != "" {
		if c.Phone.Value = phone(c.Phone.Value); c.Phone.Value == "" {
			bad.Add(at.field(DetailPhone), CodeInvalidValue, "is no phone number")
		}
	}
	if c.Document.Value = strings.TrimSpace(c.Document.Value); c.Document.Value != "" {
		if c.Document.Value, _ = NormalDocument(c.Document.Value); c.Document.Value == "" {
			bad.Add(at.field(DetailDocument), CodeInvalidValue, "is no CPF or CNPJ: its length or its check digits are wrong")
		}
	}
	c.Pix.Value.check(&bad, phone)
	bad.atMost("details.handles", len(c.Handles.Value), MaxHandles)
	for i := range c.Handles.Value {
		handle := element("details.handles", i)
		c.Handles.Value[i] = strings.TrimSpace(c.Handles.Value[i])
		bad.filled(handle, "", c.Handles.Value[i], MaxHandle)
	}
	bad.text(at, DetailNotes, c.Notes.Value, MaxNotes)
	return bad
}

// check checks a key by its type, and writes it as it is stored.
func (p *Pix) check(bad *Violations, phone func(raw string) string) {
	at := place{name: "details.pix"}
	p.Key = strings.TrimSpace(p.Key)
	if p.Type == "" && p.Key == "" {
		return
	}
	if p.Type == "" {
		bad.Add(at.field("type"), CodeRequired, "is required: a key's type is never guessed")
		return
	}
	if bad.word(at, "type", p.Type, PixTypes...); bad.Of(at.field("type")) {
		return
	}
	if p.Key == "" {
		bad.Add(at.field("key"), CodeRequired, "is required")
		return
	}
	normal, words := "", ""
	switch p.Type {
	case PixCPF:
		normal, words = NormalCPF(p.Key), "is no CPF: its length or its check digits are wrong"
	case PixCNPJ:
		normal, words = NormalCNPJ(p.Key), "is no CNPJ: its length or its check digits are wrong"
	case PixPhone:
		normal, words = phone(p.Key), "is no phone number"
	case PixEmail:
		words = fmt.Sprintf("is no e-mail address of at most %d characters", maxPixEmail)
		if normal = normalEmail(p.Key); len(normal) > maxPixEmail {
			normal = ""
		}
	case PixRandom:
		words = "is no random key, such as 123e4567-e89b-42d3-a456-426655440000"
		if uuidtext.Is(p.Key) {
			normal = strings.ToLower(p.Key)
		}
	}
	if p.Key = normal; normal == "" {
		bad.Add(at.field("key"), CodeInvalidValue, "%s", words)
	}
}

// normalEmail returns an address in lower case, and "" for what is none or more than one.
func normalEmail(raw string) string {
	parsed, err := mail.ParseAddress(raw)
	if err != nil || parsed.Address != raw || len(raw) > maxEmail || hasControls(raw) || strings.ContainsAny(raw, " <>\"") {
		return ""
	}
	email := strings.ToLower(raw)
	if _, domain, _ := strings.Cut(email, "@"); strings.Contains(domain, "@") || !strings.Contains(strings.Trim(domain, "."), ".") {
		return ""
	}
	return email
}

// Apply makes the change.
func (c *DetailsChange) Apply(d *Details) {
	for _, f := range []struct {
		to   *string
		from wire.Optional[string]
	}{{&d.Email, c.Email}, {&d.Phone, c.Phone}, {&d.Document, c.Document}, {&d.Notes, c.Notes}} {
		if f.from.Present {
			*f.to = f.from.Value
		}
	}
	if c.Pix.Present {
		d.Pix = c.Pix.Value
	}
	if c.Handles.Present {
		d.Handles = c.Handles.Value
	}
}

// Differs returns the names of the fields in which two details differ.
func (d *Details) Differs(other *Details) (names []string) {
	for _, f := range []struct {
		name string
		same bool
	}{{DetailEmail, d.Email == other.Email}, {DetailPhone, d.Phone == other.Phone}, {DetailDocument, d.Document == other.Document},
		{DetailPix, d.Pix == other.Pix}, {DetailHandles, slices.Equal(d.Handles, other.Handles)}, {DetailNotes, d.Notes == other.Notes}} {
		if !f.same {
			names = append(names, f.name)
		}
	}
	return names
}

// has reports whether a field of PayeeFields is known.
func (d *Details) has(name string) bool {
	return map[string]bool{DetailEmail: d.Email != "", DetailDocument: d.Document != "", DetailPix: d.Pix != Pix{}}[name]
}

// KeepsPayee returns a *PayeeKnownError where a change of details that other things come with, as an import,
// would overwrite what is known of where money goes.
func (d *Details) KeepsPayee(after *Details) error {
	var known []string
	for _, name := range d.Differs(after) {
		if d.has(name) {
			known = append(known, name)
		}
	}
	if len(known) > 0 {
		return &PayeeKnownError{Fields: known}
	}
	return nil
}

// PayeeKnownError refuses a registration that would overwrite fields of PayeeFields. It is an
// ErrConflict.
type PayeeKnownError struct{ Fields []string }

func (e *PayeeKnownError) Error() string {
	return "the influencer has another " + strings.Join(e.Fields, ", ") + " already"
}

// Unwrap makes it an ErrConflict.
func (e *PayeeKnownError) Unwrap() error { return ErrConflict }

// hidden stands for what a mask leaves out.
const hidden = "…"

// Masked returns the details as they are shown to those who may not see them whole: what tells two
// apart stays, and names nobody.
func (d Details) Masked() Details {
	d.Email, d.Phone, d.Document = maskedEmail(d.Email), maskedEnd(d.Phone), maskedEnd(d.Document)
	d.Pix.Key, d.EmailBefore = d.Pix.Masked(), ""
	if d.Notes != "" {
		d.Notes = hidden
	}
	return d
}

// Masked returns the key as it is shown to those who may not see it whole.
func (p Pix) Masked() string {
	if p.Type == PixEmail {
		return maskedEmail(p.Key)
	}
	return maskedEnd(p.Key)
}

// MaskedDocument returns a CPF or CNPJ as it is shown to those who may not see it whole.
func MaskedDocument(document string) string { return maskedEnd(document) }

// maskedEnd leaves the last four characters.
func maskedEnd(text string) string {
	if text == "" {
		return ""
	}
	return hidden + text[max(0, len(text)-4):]
}

// maskedEmail leaves the first letter and the domain.
func maskedEmail(email string) string {
	at := strings.LastIndexByte(email, '@')
	if at <= 0 {
		return maskedEnd(email)
	}
	first := []rune(email[:at])[:1]
	return string(first) + hidden + email[at:]
}
