package connect

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/throttle"
)

// receiveOfApp is POST /connect/{platform}, the address of the operator's app, to which a platform sends what persons ask of any of
// its shops. The app's secret is checked first; then the shop that the signed body names leads to the companies that connected it,
// each of which gets the notice. 200 says that all have it. A shop that nobody connected is 200, too: there is nothing to do.
func (s *Server) receiveOfApp(w http.ResponseWriter, r *http.Request) {
	done := s.beginReceiving(w, r)
	if done == nil {
		return
	}
	defer done()
	name, network := r.PathValue("platform"), throttle.Network(s.config.ClientAddress(r))
	p, known := s.platforms[name].(platform.AppNotifier)
	secrets := s.config.Apps[name].secrets()
	if !known || len(secrets) == 0 {
		s.refuse(w, http.StatusNotFound, 0, "", noticeUnknown)
		return
	}
	body, ok := s.readNotice(w, r, name)
	if !ok {
		return
	}
	d := platform.Delivery{Header: r.Header, Body: body, AppSecrets: secrets}
	var list []platform.Notice
	var err error
	if d.Shop, err = p.NoticedShop(d); err == nil && d.Shop != "" {
		list, err = p.Notices(d)
	}
	if errors.Is(err, platform.ErrForged) {
		s.refuseForged(w, name, network)
		return
	}
	// Orders, and what a shop does with the app, come to the address of its connection.
	list = slices.DeleteFunc(list, func(n platform.Notice) bool { return !slices.Contains(ofPersons, n.Kind) })
	if err != nil || len(list) == 0 {
		s.answer(w, name, noticeSkipped)
		return
	}
	if got := s.senders.Take(name+"/"+d.Shop, s.Now()); !got.OK { // signed, and sent again and again: the platform tries later
		s.refuse(w, http.StatusTooManyRequests, got.Wait, name, noticeFailed)
		return
	}
	s.keepOfApp(w, r, name, d, list)
}

// ofPersons are the kinds of notices that are about persons.
var ofPersons = []string{platform.NoticeRedact, platform.NoticeDataRequest, platform.NoticeRedactShop}

// keepOfApp stores notices for each company that connected their shop. Where one cannot be stored, the platform sends all again,
// and those that are stored already are the same rows.
func (s *Server) keepOfApp(w http.ResponseWriter, r *http.Request, name string, d platform.Delivery, list []platform.Notice) {
	ctx, cancel := context.WithTimeout(r.Context(), takeNotice)
	defer cancel()
	connections, err := s.Database.ConnectionsOfShop(ctx, name, d.Shop)
	if err != nil {
		s.Logger.Warn("the connections of a shop cannot be looked up for a notice", "platform", name, "error", err)
		s.refuse(w, http.StatusServiceUnavailable, time.Second, name, noticeFailed)
		return
	}
	for _, c := range connections {
		of := knownConnection{LeasedConnection: commerce.LeasedConnection{Connection: c}}
		rows, err := s.rows(of, list, d.Body)
		if err != nil {
			s.Logger.Error("a notice cannot be sealed", "error", err)
			s.refuse(w, http.StatusInternalServerError, 0, name, noticeFailed)
			return
		}
		if !s.store(w, r, of, rows) {
			return
		}
	}
	if len(connections) == 0 {
		s.answer(w, name, noticeUnknown)
		return
	}
	background.Wake(s.wake)
	s.answer(w, name, noticeTaken)
}
