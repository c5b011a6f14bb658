package shops

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
)

// taskView is what became of a task whose answer the page waits for.
type taskView struct {
	Waits             bool
	Text              string // what is being done, or was
	Why, Mend, Detail string // why it failed; empty: it did not
	Preview           *previewView
	Coupon            []site.Said // as the shop has it now
	Failed            bool
}

// previewView is what a test found.
type previewView struct {
	Name, Shop, URL            string
	Orders, Total, Currency    string
	Proof, Notify              string
	Known, Unknown             []site.Said
	Lacks                      []site.Said // permissions, and what does not come without them
	WrongCurrency, OwnCurrency string      // where the shop's is not the store's
}

// askedLater is how long a page waits beyond the life of a task before it says that no service answers.
const askedLater = 30 * time.Second

// taskOf reads the task of the page's address, and what its answer means for the page.
func (s *Pages) taskOf(r *http.Request, v site.Request, offer commerce.ConnectOffer, c commerce.Connection, id string,
	page *shopPage) error {
	if id == "" {
		return nil
	}
	if !isID(id) {
		return site.ErrBadAddress
	}
	t, err := s.db.ConnectTask(r.Context(), v.Current.CompanyID, id)
	if errors.Is(err, commerce.ErrNotFound) { // it is kept for some time only
		return nil
	}
	if err == nil && t.ConnectionID != c.ID {
		err = site.ErrBadAddress
	}
	if err != nil {
		return err
	}
	p, _ := offered(offer, c.Platform)
	page.Task = s.viewTask(v, p, c, t)
	if shown := page.Task.Preview; shown != nil && shown.WrongCurrency == "" && c.State == commerce.ConnectionDraft && page.Form == nil {
		day, err := s.firstDay(r.Context(), v, c)
		if err != nil {
			return err
		}
		page.Form = startForm(v, nil, day)
	}
	return nil
}

func (s *Pages) viewTask(v site.Request, platform commerce.OfferedPlatform, c commerce.Connection, t commerce.ConnectTask) *taskView {
	l := v.Lang
	view := &taskView{Text: l.T("shops.doing_" + t.Kind)}
	if t.DoneAt.IsZero() {
		if view.Waits = s.Now().Sub(t.CreatedAt) < commerce.ConnectTaskLife+askedLater; view.Waits {
			return view
		}
		t.Reason = commerce.ShopNoService
	}
	if t.Reason != "" {
		view.Failed, view.Text, view.Detail = true, l.T("shops.failed_"+t.Kind), detailWords(l, t.Detail)
		view.Why, view.Mend = reasonWords(l, t.Reason)
		if c.State == commerce.ConnectionDraft { // nothing is tried again by itself
			view.Mend = site.TextOf(l, "shops.mend_draft_"+t.Reason, view.Mend)
		}
		return view
	}
	view.Text = l.T("shops.done_" + t.Kind)
	switch t.Kind {
	case commerce.TaskTest, commerce.TaskInstall:
		var p commerce.ShopPreview
		if json.Unmarshal(t.Answer, &p) == nil {
			view.Preview = viewPreview(v, platform, p)
		}
	case commerce.TaskCoupon:
		var made commerce.ShopCoupon
		if json.Unmarshal(t.Answer, &made) == nil && made.Code != "" {
			view.Coupon = couponSaid(v, c.Currency, made)
		}
	}
	return view
}

func viewPreview(v site.Request, platform commerce.OfferedPlatform, p commerce.ShopPreview) *previewView {
	l := v.Lang
	view := &previewView{Name: p.Name, Shop: p.Shop, URL: shopURL(p.URL), Orders: l.N("shops.orders_30", p.Orders),
		Total: totalWords(l, p.Total, p.Currency), Currency: p.Currency}
	for _, permission := range p.Lacks {
		view.Lacks = append(view.Lacks, site.Said{Label: permission, Text: of(l, platform.Without)[permission]})
	}
	if p.More {
		view.Orders = l.N("shops.orders_30_more", p.Orders)
	}
	view.Proof = site.TextOf(l, "shops.proof_"+p.ProofKey, l.T("shops.proof_none"))
	if view.Notify = l.T("shops.cannot_notify"); p.CanNotify {
		view.Notify = l.T("shops.can_notify")
	}
	for _, code := range p.Codes {
		said := site.Said{Label: code.Code, Text: l.N("sales.n_orders", code.Orders)}
		if code.Known {
			view.Known = append(view.Known, said)
		} else {
			view.Unknown = append(view.Unknown, said)
		}
	}
	if !strings.EqualFold(p.Currency, v.Current.Currency) {
		view.WrongCurrency, view.OwnCurrency = p.Currency, v.Current.Currency
	}
	return view
}

// addTask gives the service a task, and leads to the page of the connection, which waits for the answer.
func (s *Pages) addTask(w http.ResponseWriter, r *http.Request, v site.Request, t commerce.ConnectTask) {
	t.CompanyID = v.Current.CompanyID
	id, err := s.db.AddConnectTask(r.Context(), s.Author(v), t)
	if err != nil {
		s.refuseAction(w, r, v, t.ConnectionID, err)
		return
	}
	http.Redirect(w, r, shopPath(v.Current.CompanyID, t.ConnectionID, "task", id), http.StatusSeeOther)
}

// couponSaid is a coupon in words, line by line.
func couponSaid(v site.Request, currency string, c commerce.ShopCoupon) (list []site.Said) {
	l, zone := v.Lang, v.Zone()
	say := func(key, text string) { list = append(list, site.Said{Label: l.T("shops." + key), Text: text}) }
	say("code", c.Code)
	say("discount", discountWords(l, currency, c))
	uses := l.T("shops.no_limit")
	if c.MaxUses > 0 {
		uses = l.N("shops.uses", int64(c.MaxUses))
	}
	say("max_uses", uses)
	say("one_per_person", yesWords(l, c.OnePerPerson))
	ends := l.T("shops.no_end")
	if !c.EndsAt.IsZero() {
		ends = l.Date(c.EndsAt.In(zone))
	}
	say("ends_on", ends)
	return list
}

func yesWords(l *lang.Printer, is bool) string {
	return l.T("audit." + map[bool]string{true: "yes", false: "no"}[is])
}
