package mail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/admin/statementlink"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
)

// letter is what a mail says.
type letter struct {
	To      string // an address
	Lang    string // RFC 5646
	Subject string
	Lines   []string // paragraphs
	Items   []string // a list after them; may be empty
	Link    link     // where more is to be seen
	Why     string   // one gets it
	Choose  link     // where it is switched off; empty: nowhere
	Linked  string   // the statement that Link shows without a log-in; empty: none
}

type link struct{ Name, URL string }

// errNothing says that there is nothing to send.
var errNothing = errors.New("mail: nothing is to be told")

// laterError says when a mail may be sent that may not be yet.
type laterError time.Time

// Error implements error.
func (e laterError) Error() string { return "mail: not before " + time.Time(e).String() }

// actor is who makes links for mails, in the audit log.
const actor = "mail"

// write writes the mail of messages of one destination from what is stored now. errNothing or commerce.ErrNotFound where it tells nothing
// any more; laterError.
func (s *Sender) write(ctx context.Context, d commerce.LeasedDestination, messages []commerce.Message) (*letter, error) {
	kind := messages[0].Type
	if !slices.Contains(d.Types, kind) { // it was switched off meanwhile
		return nil, errNothing
	}
	text := s.languages.Of(d.Language)
	if text == nil {
		text = s.languages.All()[0]
	}
	if d.ID == commerce.MailPartners {
		return s.statement(ctx, text, d, messages[0])
	}
	person, err := s.deps.Database.MailPerson(ctx, d.CompanyID, d.ID)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(account.MailTypes(person.Role), kind) {
		return nil, errNothing
	}
	store := name(person.Store)
	l := &letter{To: person.Email, Lang: text.Tag, Why: text.T("mail.why", store, text.T("role."+person.Role)),
		Choose: s.page(text.T("mail.choose"), site.MailsPath, d)}
	switch kind {
	case commerce.PayoutReview:
		err = s.reviews(ctx, text, d, store, messages, l)
	case commerce.CouponLeaking:
		err = s.leaks(ctx, text, d, store, messages, l)
	case commerce.ConnectionFails:
		err = s.shop(ctx, text, d, store, messages[0], l)
	case commerce.WebhookDisabled:
		err = s.endpoint(ctx, text, d, store, messages[0], l)
	default:
		err = errNothing
	}
	return l, err
}

// page is a link to a page of the dashboard.
func (s *Sender) page(name, path string, d commerce.LeasedDestination) link {
	return link{name, s.origin + site.StorePath(path, d.CompanyID)}
}

// name is a name that strangers gave as a mail shows it: one line, of characters that print, and not too long.
func name(text string) string {
	shown := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, ""))
	shown = strings.Join(strings.Fields(shown), " ")
	if runes := []rune(shown); len(runes) > commerce.MaxMailLetter {
		return string(runes[:commerce.MaxMailLetter-1]) + "…"
	}
	return shown
}

// tooSoon says of messages whose mail may be sent once in a while, and was sent at a moment in it, when they may be: where one is of after
// that. The others were told by that mail: a program of before the digest writes one for each order.
func tooSoon(messages []commerce.Message, sent time.Time, every time.Duration) error {
	for _, m := range messages {
		if m.At.After(sent) {
			return laterError(sent.Add(every))
		}
	}
	return errNothing
}

// reviews tells how many orders wait now. It is sent once in commerce.DigestEvery at most.
func (s *Sender) reviews(ctx context.Context, text *lang.Printer, d commerce.LeasedDestination, store string, messages []commerce.Message,
	l *letter) error {
	told, err := s.deps.Database.MailReviews(ctx, d.CompanyID, d.ID, s.now())
	switch {
	case err != nil:
		return err
	case told.Orders == 0:
		return errNothing
	case !told.SentAt.IsZero():
		return tooSoon(messages, told.SentAt, commerce.DigestEvery)
	}
	var sums []string
	for _, t := range told.Totals {
		sums = append(sums, text.Sum(t.Minor, t.Currency))
	}
	l.Subject = text.T("mail.reviews_subject", store)
	l.Lines = []string{text.N("mail.reviews", told.Orders, store), text.T("mail.reviews_sum", strings.Join(sums, ", "))}
	l.Link = s.page(text.T("reviews.title"), site.ReviewsPath, d)
	return nil
}

// leaks names coupons that show signs of a leak.
func (s *Sender) leaks(ctx context.Context, text *lang.Printer, d commerce.LeasedDestination, store string, messages []commerce.Message,
	l *letter) error {
	var list []commerce.LeakTold
	var ids []string
	for _, m := range messages {
		var told commerce.LeakTold
		if err := json.Unmarshal(m.Data, &told); err != nil {
			return fmt.Errorf("mail: %s: %w", m.ID, err)
		}
		list, ids = append(list, told), append(ids, told.InfluencerID)
	}
	names, err := s.deps.Database.MailPartners(ctx, d.CompanyID, ids)
	if err != nil {
		return err
	}
	l.Subject, l.Lines = text.T("mail.leak_subject", store), []string{text.T("mail.leak", store)}
	for _, told := range list[:min(len(list), commerce.MaxMailShown)] {
		l.Items = append(l.Items, text.T("mail.leak_item", name(told.Code), name(names[told.InfluencerID]), text.Day(told.Since)))
	}
	if rest := len(list) - len(l.Items); rest > 0 {
		l.Items = append(l.Items, text.N("mail.more", int64(rest)))
	}
	l.Link = s.page(text.T("nav.signs"), site.SignsPath, d)
	return nil
}

// shop says that a shop is not read. It is sent once in commerce.FailingEvery at most.
func (s *Sender) shop(ctx context.Context, text *lang.Printer, d commerce.LeasedDestination, store string, m commerce.Message,
	l *letter) error {
	var told commerce.ConnectionTold
	if err := json.Unmarshal(m.Data, &told); err != nil {
		return fmt.Errorf("mail: %s: %w", m.ID, err)
	}
	shop, err := s.deps.Database.MailShop(ctx, d.CompanyID, d.ID, told.ConnectionID, s.now())
	switch {
	case err != nil:
		return err
	case !shop.Failing:
		return errNothing
	case !shop.SentAt.IsZero():
		return tooSoon([]commerce.Message{m}, shop.SentAt, commerce.FailingEvery)
	}
	if shop.Name == "" {
		shop.Name = shop.Platform
	}
	l.Subject = text.T("mail.shop_subject", store)
	l.Lines = []string{text.T("mail.shop", name(shop.Name), store), site.TextOf(text, "shops.reason_"+told.Reason, name(told.Reason)),
		text.T("mail.shop_after")}
	l.Link = s.page(text.T("shops.title"), site.ShopsPath, d)
	return nil
}

// endpoint says that a webhook endpoint, or an account at a network, was disabled.
func (s *Sender) endpoint(ctx context.Context, text *lang.Printer, d commerce.LeasedDestination, store string, m commerce.Message,
	l *letter) error {
	var told commerce.DisabledTold
	if err := json.Unmarshal(m.Data, &told); err != nil {
		return fmt.Errorf("mail: %s: %w", m.ID, err)
	}
	called, err := s.deps.Database.MailEndpoint(ctx, d.CompanyID, told.EndpointID)
	if err != nil {
		return err
	}
	subject, says, after, title, path := "mail.webhook_subject", "mail.webhook", "mail.webhook_after", "webhooks.title", site.WebhooksPath
	why := site.TextOf(text, "webhooks.reason_"+told.Reason, name(told.Reason))
	if strings.HasPrefix(told.EndpointID, commerce.NetworkPrefix) {
		subject, says, after = "mail.network_subject", "mail.network", "mail.network_after"
		title, path = "conversions.title", site.ConversionsPath
		why = site.TextOf(text, "conversions.reason_"+told.Reason, why)
	}
	l.Subject, l.Lines = text.T(subject, store), []string{text.T(says, name(called), store), why, text.T(after)}
	l.Link = s.page(text.T(title), path, d)
	return nil
}

// statement tells a partner that a statement is closed. It says no amount: who reads mails on the way reads none, and the page has it.
func (s *Sender) statement(ctx context.Context, text *lang.Printer, d commerce.LeasedDestination, m commerce.Message) (*letter, error) {
	var told commerce.StatementNamed
	if err := json.Unmarshal(m.Data, &told); err != nil {
		return nil, fmt.Errorf("mail: %s: %w", m.ID, err)
	}
	now, err := s.deps.Database.MailStatement(ctx, d.CompanyID, told.StatementID)
	if err != nil {
		return nil, err
	}
	if now.Carried || now.Revoked > 0 { // an owner wants that no link of before works: one of after is made by hand
		return nil, errNothing
	}
	store := name(now.Store)
	l := &letter{To: now.Email, Lang: text.Tag, Subject: text.T("mail.statement_subject", store),
		Lines: []string{text.T("mail.statement_hello", name(now.Partner)),
			text.T("mail.statement", store, fmt.Sprint(now.Number), text.Day(now.EndDate)),
			text.N("mail.statement_life", int64(statementlink.Life/(24*time.Hour)))},
		Why: text.T("mail.why_partner", store)}
	if _, err := recipient(now.Email); err != nil {
		return l, nil // no link is made that nobody gets
	}
	token, err := s.deps.Links.Token(statementlink.Link{CompanyID: d.CompanyID, StatementID: told.StatementID,
		InfluencerID: told.InfluencerID, Number: now.Revoked, Expires: s.now().Add(statementlink.Life)})
	if err != nil {
		return nil, fmt.Errorf("mail: %w", err)
	}
	l.Link, l.Linked = link{text.T("mail.statement_link"), s.origin + statementlink.Path + token}, told.StatementID
	return l, nil
}
