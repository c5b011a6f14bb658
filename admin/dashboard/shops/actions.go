package shops

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// handler is site.Route.Handle of a form of one connection.
type handler = func(w http.ResponseWriter, r *http.Request, v site.Request, c commerce.Connection)

// ofOne is the route of a form of one connection: the one that its field id names.
func (s *Pages) ofOne(path string, handle handler) site.Route {
	return site.Route{Pattern: "POST " + path, Owner: true, Handle: func(w http.ResponseWriter, r *http.Request, v site.Request) {
		if c, ok := s.connectionOf(w, r, v, r.PostForm.Get("id")); ok {
			handle(w, r, v, c)
		}
	}}
}

func (s *Pages) actionRoutes() []site.Route {
	route := func(name string, handle handler) site.Route { return s.ofOne(site.ShopsPath+"/"+name, handle) }
	return []site.Route{
		route("start", s.start), route("change", s.change), route("answer", s.answer), route("backfill", s.backfill),
		route("pause", s.does("shop_paused", Database.PauseConnection)),
		route("resume", s.does("shop_resumed", Database.ResumeConnection)),
		route("end", s.does("shop_ended", Database.EndConnection)),
		route("test", s.asks(commerce.TaskTest)), route("retry", s.asks(commerce.TaskRetry)), route("compare", s.asks(commerce.TaskCompare)),
	}
}

// does is a form that does one thing to a connection; the page then says so by the text "done.<what>".
func (s *Pages) does(what string, do func(db Database, ctx context.Context, author commerce.Author, id string) error) handler {
	return func(w http.ResponseWriter, r *http.Request, v site.Request, c commerce.Connection) {
		if err := do(s.db, r.Context(), s.Author(v), c.ID); err != nil {
			s.refuseAction(w, r, v, c.ID, err)
			return
		}
		path := shopPath(v.Current.CompanyID, c.ID)
		if c.State == commerce.ConnectionDraft || c.State == commerce.ConnectionInstalling { // nothing of it is left to be shown
			path = v.Path(site.ShopsPath)
		}
		site.Done(w, r, path, what)
	}
}

// asks is a form that gives the service a task without a question.
func (s *Pages) asks(kind string) handler {
	return func(w http.ResponseWriter, r *http.Request, v site.Request, c commerce.Connection) {
		s.addTask(w, r, v, commerce.ConnectTask{ConnectionID: c.ID, Kind: kind})
	}
}

// answer notes that the owner did what a customer asked the shop for.
func (s *Pages) answer(w http.ResponseWriter, r *http.Request, v site.Request, c commerce.Connection) {
	err := s.db.AnswerShopRequest(r.Context(), s.Author(v), c.ID, r.PostForm.Get("request"))
	if err != nil && !errors.Is(err, commerce.ErrNotFound) { // one that is not there any more is done
		s.refuseAction(w, r, v, c.ID, err)
		return
	}
	site.Done(w, r, shopPath(v.Current.CompanyID, c.ID), "shop_answered")
}

// refuseAction answers a form whose action was refused: the page of the connection says why.
func (s *Pages) refuseAction(w http.ResponseWriter, r *http.Request, v site.Request, id string, err error) {
	key := ""
	switch {
	case errors.Is(err, commerce.ErrConnectionState):
		key = "shops.not_now"
	case errors.Is(err, commerce.ErrNoConnectService):
		key = "shops.no_service"
	case errors.Is(err, commerce.ErrTooManyTasks):
		key = "shops.too_many_tasks"
	case errors.Is(err, commerce.ErrShopCurrency):
		key = "shops.reason_currency"
	case errors.Is(err, commerce.ErrShopConnected):
		key = "shops.connected_already"
	case errors.Is(err, account.ErrTooManyKeys):
		key = "shops.too_many_keys"
	}
	if key == "" {
		s.NotFoundOr(w, r, err, "no_connection")
		return
	}
	c, ok := s.connectionOf(w, r, v, id)
	if !ok {
		return
	}
	v.Stale = v.Lang.T(key, commerce.MaxConnectTasks)
	s.showShop(w, r, v, http.StatusConflict, c, shopPage{})
}

// startForm asks which orders are read, and from which day on they earn: firstDay, where nothing was typed.
func startForm(v site.Request, typed map[string][]string, firstDay string) *site.Form {
	f := site.NewForm(v.Lang, "shops", typed)
	f.Add(site.Field{Name: "days", Type: "number", Required: true, Value: strconv.Itoa(commerce.DefaultBackfill), Max: 3})
	f.Add(site.Field{Name: "commissions_from", Type: "date", Required: true, Value: firstDay})
	return f
}

// firstDay is from which day on a shop's orders are proposed to earn.
func (s *Pages) firstDay(ctx context.Context, v site.Request, c commerce.Connection) (string, error) {
	list, err := s.db.Connections(ctx, c.CompanyID)
	if err != nil {
		return "", err
	}
	zone := v.Zone()
	return commerce.CommissionsFrom(list, c, s.Now().In(zone)).In(zone).Format(time.DateOnly), nil
}

// start connects a shop that was tested.
func (s *Pages) start(w http.ResponseWriter, r *http.Request, v site.Request, c commerce.Connection) {
	f := startForm(v, r.PostForm, "")
	start := commerce.ConnectionStart{ID: c.ID, Version: c.Version, Days: readDays(v, f, r.PostForm.Get("days"), 0),
		CommissionsFrom: s.readFrom(v, f)}
	if f.Failed() {
		s.showAgain(w, r, v, c, shopPage{Form: f})
		return
	}
	offer, err := s.db.ConnectOffer(r.Context())
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	if len(offer.PublicKey) == 0 {
		s.refuseAction(w, r, v, c.ID, commerce.ErrNoConnectService)
		return
	}
	start.KeyID = offer.KeyID
	start.SealKey = func(apiKey string) ([]byte, error) {
		return account.Seal(offer.PublicKey, offer.KeyID,
			account.SealedFor{CompanyID: v.Current.CompanyID, ConnectionID: c.ID, Purpose: account.SealAPIKey}, []byte(apiKey))
	}
	if err := s.db.StartConnection(r.Context(), s.Author(v), start); err != nil {
		s.refuseAction(w, r, v, c.ID, err)
		return
	}
	site.Done(w, r, shopPath(v.Current.CompanyID, c.ID), "shop_started")
}

// showAgain shows the page with a form that failed, and with the task that it had.
func (s *Pages) showAgain(w http.ResponseWriter, r *http.Request, v site.Request, c commerce.Connection, page shopPage) {
	shown := r.Clone(r.Context())
	query := shown.URL.Query()
	query.Set("task", r.PostForm.Get("task"))
	shown.URL.RawQuery = query.Encode()
	s.showShop(w, shown, v, http.StatusUnprocessableEntity, c, page)
}

// readDays reads how many days of earlier orders are read.
func readDays(v site.Request, f *site.Form, text string, least int) int {
	days, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || days < least || days > commerce.MaxBackfillDays {
		f.Fail("days", v.Lang.T("shops.bad_days", least, commerce.MaxBackfillDays))
	}
	return days
}

// readFrom reads from which day on orders earn: not a day to come.
func (s *Pages) readFrom(v site.Request, f *site.Form) time.Time {
	day := f.Day("commissions_from")
	if day == "" {
		f.Fail("commissions_from", v.Lang.T("form.day"))
		return time.Time{}
	}
	from, err := commerce.ParseDay(day, v.Zone())
	if err != nil || day > s.DayOf(v) {
		f.Fail("commissions_from", v.Lang.T("shops.bad_from"))
	}
	return from
}

// pollChoices are how often changes are read, in seconds.
var pollChoices = []string{"30", "60", "120", "300", "900", "3600"}

// changeForm asks for what of a connection can be changed.
func changeForm(v site.Request, c commerce.Connection, typed map[string][]string) *site.Form {
	f := site.NewForm(v.Lang, "shops", typed)
	f.IDs = "c-"
	every := strconv.Itoa(int(c.PollEvery / time.Second))
	choices := pollChoices
	if !slices.Contains(choices, every) && c.PollEvery > 0 {
		choices = append([]string{every}, choices...)
	}
	options := make([]site.Option, len(choices))
	for i, choice := range choices {
		seconds, _ := strconv.Atoi(choice)
		options[i] = site.Option{Value: choice, Label: everyWords(v.Lang, time.Duration(seconds)*time.Second)}
	}
	f.Add(site.Field{Name: "poll_every", Type: "select", Value: every, Options: options})
	f.Add(site.Field{Name: "commissions_from", Type: "date", Required: true, Value: c.CommissionsFrom.In(v.Zone()).Format(time.DateOnly)})
	return f
}

func (s *Pages) change(w http.ResponseWriter, r *http.Request, v site.Request, c commerce.Connection) {
	f := changeForm(v, c, r.PostForm)
	seconds, err := strconv.Atoi(r.PostForm.Get("poll_every"))
	asked := commerce.ConnectionChange{ID: c.ID, PollEvery: time.Duration(seconds) * time.Second, CommissionsFrom: s.readFrom(v, f)}
	if err != nil || asked.PollEvery < commerce.MinPollEvery || asked.PollEvery > commerce.MaxPollEvery {
		f.Fail("poll_every", v.Lang.T("form.choose"))
	}
	if c.Orders > 0 && asked.CommissionsFrom.After(c.CommissionsFrom) {
		f.Fail("commissions_from", v.Lang.T("shops.not_later"))
	}
	if !f.Failed() {
		err = s.db.ChangeConnection(r.Context(), s.Author(v), asked)
		switch {
		case s.staleChange(r, v, f, err):
		case err != nil:
			s.refuseAction(w, r, v, c.ID, err)
			return
		}
	}
	if f.Failed() {
		s.showShop(w, r, v, f.Status(), c, shopPage{Form: f})
		return
	}
	site.Done(w, r, shopPath(v.Current.CompanyID, c.ID), "shop_changed")
}

// staleChange reports whether somebody changed the connection meanwhile: the form shows both.
func (s *Pages) staleChange(r *http.Request, v site.Request, f *site.Form, err error) bool {
	if _, stale := s.StaleWords(r, err); !stale {
		return false
	}
	c, failed := s.db.Connection(r.Context(), v.Current.CompanyID, r.PostForm.Get("id"))
	if failed != nil {
		return false
	}
	f.Stored = changeForm(v, c, nil)
	return s.Stale(r, f, err)
}

// earlierForm asks how many days of earlier orders are read again.
func earlierForm(v site.Request, typed map[string][]string) *site.Form {
	f := site.NewForm(v.Lang, "shops", typed)
	f.IDs = "e-"
	f.Add(site.Field{Name: "days", Type: "number", Required: true, Value: strconv.Itoa(commerce.DefaultBackfill), Max: 3})
	return f
}

// backfill reads earlier orders again.
func (s *Pages) backfill(w http.ResponseWriter, r *http.Request, v site.Request, c commerce.Connection) {
	f := earlierForm(v, r.PostForm)
	asked := commerce.BackfillAsked{Days: readDays(v, f, r.PostForm.Get("days"), 1)}
	if f.Failed() {
		s.showShop(w, r, v, http.StatusUnprocessableEntity, c, shopPage{Earlier: f})
		return
	}
	question, err := json.Marshal(asked)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	s.addTask(w, r, v, commerce.ConnectTask{ConnectionID: c.ID, Kind: commerce.TaskBackfill, Question: question})
}
