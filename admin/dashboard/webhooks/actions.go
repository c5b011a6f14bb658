package webhooks

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
)

func (s kindPages) actionRoutes() []site.Route {
	route := func(name string, handle func(w http.ResponseWriter, r *http.Request, v site.Request, e commerce.Endpoint)) site.Route {
		return site.Route{Pattern: "POST " + s.kind.list + "/" + name, Owner: true,
			Handle: func(w http.ResponseWriter, r *http.Request, v site.Request) {
				if e, ok := s.endpointOf(w, r, v, r.PostForm.Get("id")); ok {
					handle(w, r, v, e)
				}
			}}
	}
	return []site.Route{
		route("change", s.change), route("secret", s.newSecret), route("resend", s.resend), route("replay", s.replay), route("remove", s.remove),
		route("enable", s.enable),
		route("disable", s.does("disabled", func(ctx context.Context, author commerce.Author, e commerce.Endpoint) error {
			return s.setActive(ctx, author, e, false)
		})),
		route("test", s.does("tested", func(ctx context.Context, author commerce.Author, e commerce.Endpoint) error {
			_, err := s.db.TestEndpoint(ctx, author, e.ID)
			return err
		})),
	}
}

func (s kindPages) setActive(ctx context.Context, author commerce.Author, e commerce.Endpoint, to bool) error {
	return s.db.ChangeEndpoint(ctx, author, e.ID, func(e *commerce.Endpoint) error {
		e.Active = to
		return nil
	})
}

// enable enables an endpoint. The form of a replay then begins where it was disabled.
func (s kindPages) enable(w http.ResponseWriter, r *http.Request, v site.Request, e commerce.Endpoint) {
	if err := s.setActive(r.Context(), s.Author(v), e, true); err != nil {
		s.refuse(w, r, v, e, err)
		return
	}
	site.Done(w, r, s.path(v.Current.CompanyID, e.ID, "from", silentSince(e).UTC().Format(time.RFC3339)), s.done("enabled"))
}

// does is a form that does one thing to an endpoint; the page then says so by the text "done.<kind>_<what>".
func (s kindPages) does(what string, do func(ctx context.Context, author commerce.Author, e commerce.Endpoint) error,
) func(w http.ResponseWriter, r *http.Request, v site.Request, e commerce.Endpoint) {
	return func(w http.ResponseWriter, r *http.Request, v site.Request, e commerce.Endpoint) {
		if err := do(r.Context(), s.Author(v), e); err != nil {
			s.refuse(w, r, v, e, err)
			return
		}
		site.Done(w, r, s.path(v.Current.CompanyID, e.ID), s.done(what))
	}
}

// refuse answers a form whose action was refused: the page of the endpoint says why.
func (s kindPages) refuse(w http.ResponseWriter, r *http.Request, v site.Request, e commerce.Endpoint, err error) {
	key := ""
	switch {
	case errors.Is(err, commerce.ErrEndpointDisabled):
		key = s.key(v.Lang, "not_disabled")
	case errors.Is(err, commerce.ErrNetworkTestCode):
		key = "conversions.needs_code"
	case errors.Is(err, commerce.ErrNoConnectService):
		key = s.key(v.Lang, "no_service")
	}
	if key == "" {
		s.notFoundOr(w, r, err)
		return
	}
	v.Stale = v.Lang.T(key)
	s.showEndpoint(w, r, v, http.StatusConflict, e, endpointPage{})
}

// errRefused says that a form is shown again.
var errRefused = errors.New("dashboard: the form is refused")

func (s kindPages) change(w http.ResponseWriter, r *http.Request, v site.Request, e commerce.Endpoint) {
	f := s.form(v, r.PostForm, e)
	f.Stored = s.form(v, nil, e)
	err := s.db.ChangeEndpoint(r.Context(), s.Author(v), e.ID, func(e *commerce.Endpoint) error {
		if s.read(r, f, e); f.Failed() {
			return errRefused
		}
		return nil
	})
	if errors.Is(err, commerce.ErrNetworkThere) {
		f.Fail("account_id", v.Lang.T("conversions.there"))
	}
	if errors.Is(err, commerce.ErrNetworkSandbox) {
		f.Fail("test_code", v.Lang.T("conversions.sandbox"))
	}
	switch {
	case f.Failed() || s.Stale(r, f, err):
		s.showEndpoint(w, r, v, f.Status(), e, endpointPage{Form: f})
	case err != nil:
		s.refuse(w, r, v, e, err)
	default:
		site.Done(w, r, s.path(v.Current.CompanyID, e.ID), s.done("changed"))
	}
}

// newSecret makes a new secret, or takes it. The one before signs beside one that was made for commerce.SecretOverlap.
func (s kindPages) newSecret(w http.ResponseWriter, r *http.Request, v site.Request, e commerce.Endpoint) {
	if s.secret != nil {
		f := s.secret(v, r.PostForm)
		if s.readSecret(r, f, e); f.Failed() {
			s.showEndpoint(w, r, v, f.Status(), e, endpointPage{New: f})
			return
		}
	}
	runs, err := s.withSecret(w, r, v, e.ID, "network_secret", func(sealed commerce.SealedSecret) error {
		return s.db.RotateSecret(r.Context(), s.Author(v), e.ID, sealed)
	})
	if err == nil && !runs {
		err = commerce.ErrNoConnectService
	}
	if err != nil {
		s.refuse(w, r, v, e, err)
	}
}

func (s kindPages) remove(w http.ResponseWriter, r *http.Request, v site.Request, e commerce.Endpoint) {
	if err := s.db.RemoveEndpoint(r.Context(), s.Author(v), e.ID); err != nil {
		s.refuse(w, r, v, e, err)
		return
	}
	site.Done(w, r, v.Path(s.kind.list), s.done("removed"))
}

// resend sends one message again.
func (s kindPages) resend(w http.ResponseWriter, r *http.Request, v site.Request, e commerce.Endpoint) {
	number, err := strconv.ParseInt(r.PostForm.Get("number"), 10, 64)
	if err != nil {
		s.ProblemOf(w, r, http.StatusBadRequest, "bad_form")
		return
	}
	if err := s.db.ResendMessage(r.Context(), s.Author(v), e.ID, number); err != nil {
		s.refuse(w, r, v, e, err)
		return
	}
	site.Done(w, r, s.path(v.Current.CompanyID, e.ID), s.done("resent"))
}

// momentLayout is how browsers send what a field of type datetime-local has.
const momentLayout = "2006-01-02T15:04"

// replayForm asks for a range of time. It begins where the endpoint was last reached, or where it was disabled.
func replayForm(v site.Request, typed map[string][]string, e commerce.Endpoint) *site.Form {
	f := site.NewForm(v.Lang, "webhooks", typed)
	f.IDs = "r-"
	begin := e.CreatedAt
	for _, at := range []time.Time{e.DeliveredAt, e.FailingSince} {
		if !at.IsZero() {
			begin = at
		}
	}
	if !e.Active {
		begin = silentSince(e)
	}
	f.Add(site.Field{Name: "from", Type: "datetime-local", Required: true,
		Value: begin.In(v.Zone()).Format(momentLayout)})
	f.Add(site.Field{Name: "to", Type: "datetime-local"})
	if len(typed[restField]) > 0 {
		f.Add(site.Field{Name: restField, Label: restField, Type: "hidden"})
	}
	return f
}

// silentSince is from when on an endpoint that is disabled lacks something.
func silentSince(e commerce.Endpoint) time.Time {
	if !e.FailingSince.IsZero() && e.FailingSince.Before(e.Since) {
		return e.FailingSince
	}
	return e.Since
}

// restField is a hidden field of the form that sends the rest: where the replay before ended, to the nanosecond.
const restField = "rest"

// readRest reads where the replay before ended. ok is false where there was none, or another beginning was typed since.
func readRest(v site.Request, r *http.Request) (from time.Time, ok bool) {
	from, err := time.Parse(time.RFC3339Nano, r.PostForm.Get(restField))
	return from, err == nil && commerce.Recordable(from) &&
		from.In(v.Zone()).Format(momentLayout) == r.PostForm.Get("from")
}

// readMoment reads a moment of the form; the zero one where none was typed.
func readMoment(v site.Request, r *http.Request, f *site.Form, name string) time.Time {
	text := strings.TrimSpace(r.PostForm.Get(name))
	if text == "" {
		return time.Time{}
	}
	zone := v.Zone()
	at, err := time.ParseInLocation(momentLayout, text, zone)
	if err != nil {
		at, err = time.ParseInLocation(momentLayout+":05", text, zone)
	}
	if err != nil || !commerce.Recordable(at) {
		f.Fail(name, v.Lang.T("webhooks.bad_moment"))
	}
	return at
}

// replay sends what changed in a range of time once more.
func (s kindPages) replay(w http.ResponseWriter, r *http.Request, v site.Request, e commerce.Endpoint) {
	f := replayForm(v, r.PostForm, e)
	from, to := readMoment(v, r, f, "from"), readMoment(v, r, f, "to")
	rest, goesOn := readRest(v, r)
	if goesOn {
		from = rest
	}
	if from.IsZero() && !f.Failed() {
		f.Fail("from", v.Lang.T("webhooks.bad_moment"))
	}
	to, ok := commerce.ReplayRange(from, to, s.Now())
	if !f.Failed() && !ok {
		if from.After(s.Now()) {
			f.Fail("from", v.Lang.T("webhooks.future"))
		} else {
			f.Fail("to", v.Lang.T("webhooks.bad_range"))
		}
	}
	var done commerce.Replayed
	var err error
	if !f.Failed() {
		done, err = s.db.ReplayEndpoint(r.Context(), s.Author(v), e.ID, from, to)
	}
	switch {
	case errors.Is(err, commerce.ErrEndpointFull):
		f.Fail("", v.Lang.T("webhooks.full"))
	case err != nil:
		s.refuse(w, r, v, e, err)
		return
	case done.More: // the form goes on where this ended
		again := replayForm(v, map[string][]string{"from": {done.Until.In(v.Zone()).Format(momentLayout)},
			"to": {r.PostForm.Get("to")}, restField: {done.Until.Format(time.RFC3339Nano)}}, e)
		v.Done = v.Lang.N("webhooks.more", int64(done.Messages))
		s.showEndpoint(w, r, v, http.StatusOK, e, endpointPage{Replay: again, Rest: true})
		return
	}
	if f.Failed() {
		s.showEndpoint(w, r, v, f.Status(), e, endpointPage{Replay: f})
		return
	}
	site.Done(w, r, s.path(v.Current.CompanyID, e.ID), s.done("replayed"))
}
