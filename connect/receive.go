package connect

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/throttle"
)

// Bounds of what platforms, and strangers, may send.
const (
	maxNotice          = 1 << 20 // bytes
	maxReceiving       = 64      // notices that are read at once
	readNotice         = 5 * time.Second
	takeNotice         = time.Second // to look it up and to store it
	maxOrderID         = 200         // characters
	connectionIDLength = 26

	strangersPerSecond, strangersBurst = 2, 200 // of one network: forged, or to addresses that nobody has
	sendersPerSecond, sendersBurst     = 20, 400

	knownLife = 5 * time.Second // what the receiver knows of a connection may be that old
	maxKnown  = 10_000
)

// What became of notices, for metrics.
const (
	noticeTaken   = "taken"
	noticeForged  = "forged"
	noticeUnknown = "unknown" // of no connection
	noticeSkipped = "skipped" // valid; the connection does not need it now
	noticeFailed  = "failed"  // not stored
)

// receive is POST /connect/{platform}/{connection}. Who sent it is checked first, then it is one row, then 200. What it says is
// done by a visit. A sender that is not the platform is refused whatever it sends; that never counts against the connection.
func (s *Server) receive(w http.ResponseWriter, r *http.Request) {
	done := s.beginReceiving(w, r)
	if done == nil {
		return
	}
	defer done()
	name, network := r.PathValue("platform"), throttle.Network(s.config.ClientAddress(r))
	p := s.platforms[name]
	if p == nil {
		name = ""
	}
	c, status, wait := s.lookUp(r.Context(), p, name, r.PathValue("connection"), network)
	if status != 0 {
		s.refuse(w, status, wait, name, map[bool]string{true: noticeFailed, false: noticeUnknown}[status == http.StatusServiceUnavailable])
		return
	}
	body, ok := s.readNotice(w, r, name)
	if !ok {
		return
	}
	list, err := p.Notices(platform.Delivery{Header: r.Header, Body: body, Secret: c.secret, AppSecrets: s.config.Apps[name].secrets(),
		Shop: c.Shop, ShopURL: c.ShopURL})
	if errors.Is(err, platform.ErrForged) {
		s.refuseForged(w, name, network)
		return
	}
	if err != nil { // signed, and not as the platform documents it: polling finds what it was about
		s.Logger.Warn("a notice cannot be read", "platform", name, "connection", shownID(c.ID))
		s.answer(w, name, noticeSkipped)
		return
	}
	s.keep(w, r, c, list, body)
}

// beginReceiving takes a place among the requests that are read at once. nil: the request is answered.
func (s *Server) beginReceiving(w http.ResponseWriter, r *http.Request) (done func()) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "only POST", http.StatusMethodNotAllowed)
		return nil
	}
	select {
	case s.receiving <- struct{}{}:
		return func() { <-s.receiving }
	default:
		s.refuse(w, http.StatusServiceUnavailable, time.Second, "", noticeFailed)
		return nil
	}
}

// readNotice reads a body to its end. ok is false where the request is answered.
func (s *Server) readNotice(w http.ResponseWriter, r *http.Request, name string) (body []byte, ok bool) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readNotice)) // a recorder in a test has none
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxNotice))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		s.refuse(w, http.StatusRequestEntityTooLarge, 0, name, noticeFailed)
		return nil, false
	} else if err != nil {
		s.refuse(w, http.StatusBadRequest, 0, name, noticeFailed)
		return nil, false
	}
	return body, true
}

// refuseForged answers what the platform did not sign. The network that sent it is charged, nobody else.
func (s *Server) refuseForged(w http.ResponseWriter, name, network string) {
	if got := s.strangers.Take(network, s.Now()); !got.OK {
		s.refuse(w, http.StatusTooManyRequests, got.Wait, name, noticeForged)
		return
	}
	s.refuse(w, http.StatusUnauthorized, 0, name, noticeForged)
}

// lookUp finds the connection of an address. status is the answer where there is none: all that are unknown are answered alike.
func (s *Server) lookUp(ctx context.Context, p platform.Platform, name, id, network string) (c knownConnection, status int,
	wait time.Duration) {
	if p == nil || len(id) != connectionIDLength {
		return c, http.StatusNotFound, 0
	}
	if c, found := s.known.get(id, s.Now()); found {
		if c.Platform != name {
			return c, http.StatusNotFound, 0
		}
		return c, 0, 0
	}
	got := s.strangers.Take(network, s.Now())
	if !got.OK {
		return c, http.StatusTooManyRequests, got.Wait
	}
	ctx, cancel := context.WithTimeout(ctx, takeNotice)
	defer cancel()
	leased, err := s.Database.ConnectionByID(ctx, id)
	switch {
	case errors.Is(err, commerce.ErrNotFound):
		return c, http.StatusNotFound, 0
	case err != nil:
		s.Logger.Warn("a connection cannot be looked up for a notice", "error", err)
		return c, http.StatusServiceUnavailable, time.Second
	}
	s.strangers.Give(network)
	c = knownConnection{LeasedConnection: leased, read: s.Now()}
	if secrets, err := s.credentialsOf(leased); err == nil {
		c.secret = secrets[noticeSecret]
		if signer, ok := p.(platform.Signer); ok {
			c.secret = signer.NoticeSecret(secrets)
		}
	}
	s.known.put(c)
	if c.Platform != name {
		return c, http.StatusNotFound, 0
	}
	return c, 0, 0
}

// keep stores what a platform said.
func (s *Server) keep(w http.ResponseWriter, r *http.Request, c knownConnection, list []platform.Notice, body []byte) {
	rows, err := s.rows(c, list, body)
	if err != nil {
		s.Logger.Error("a notice cannot be sealed", "error", err)
		s.refuse(w, http.StatusInternalServerError, 0, c.Platform, noticeFailed)
		return
	}
	if len(rows) == 0 {
		s.answer(w, c.Platform, noticeSkipped)
		return
	}
	if s.store(w, r, c, rows) {
		background.Wake(s.wake)
		s.answer(w, c.Platform, noticeTaken)
	}
}

// store keeps rows of a connection; false: it could not, and the request is answered.
func (s *Server) store(w http.ResponseWriter, r *http.Request, c knownConnection, rows []commerce.ShopNotice) bool {
	ctx, cancel := context.WithTimeout(r.Context(), takeNotice)
	defer cancel()
	if err := s.Database.AddNotices(ctx, c.CompanyID, c.ID, rows); err != nil {
		s.Logger.Warn("a notice is not stored", "platform", c.Platform, "connection", shownID(c.ID), "error", err)
		s.refuse(w, http.StatusServiceUnavailable, time.Second, c.Platform, noticeFailed)
		return false
	}
	return true
}

// rows are notices as they are stored. Of orders there are none where the connection does not run, or sends more than it may:
// it reads what changed when it is polled. Whoever asks in a person's name is always heard.
func (s *Server) rows(c knownConnection, list []platform.Notice, body []byte) (rows []commerce.ShopNotice, err error) {
	now, within := s.Now(), s.senders.Take(c.ID, s.Now()).OK
	for _, n := range list {
		row := commerce.ShopNotice{Kind: n.Kind, At: now, Due: now}
		switch n.Kind {
		case platform.NoticeOrder:
			if row.Key = n.OrderID; n.OrderID == "" || len(n.OrderID) > maxOrderID || !within || !brings(c.State) {
				continue
			}
		case platform.NoticeUninstalled, platform.NoticeSuspended, platform.NoticeResumed:
			paused := n.Kind == platform.NoticeUninstalled && c.State == commerce.ConnectionPaused
			if row.Key = n.Kind; !brings(c.State) && !paused {
				continue
			}
		case platform.NoticeRedact, platform.NoticeDataRequest, platform.NoticeRedactShop:
			row.Key = s.keyOf(c, body)
			plain, err := json.Marshal(subject{Email: n.Person.Email, Phone: n.Person.Phone, CustomerID: n.Person.CustomerID})
			if err != nil {
				return nil, err
			}
			bound := account.SealedFor{CompanyID: c.CompanyID, ConnectionID: c.ID, Purpose: account.SealNotice}
			if row.Sealed, row.KeyID, err = s.Keys.Seal(bound, plain); err != nil {
				return nil, err
			}
		default:
			continue
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// brings tells that a connection in a state brings orders, or tries to.
func brings(state commerce.ConnectionState) bool {
	switch state {
	case commerce.ConnectionConnecting, commerce.ConnectionBackfilling, commerce.ConnectionLive, commerce.ConnectionFailing:
		return true
	}
	return false
}

// keyOf tells one privacy notice from another, so that one that is sent again is the same row. Nobody can find out of it whom the
// notice names.
func (s *Server) keyOf(c knownConnection, body []byte) string {
	mac := hmac.New(sha256.New, []byte(c.secret+s.config.Apps[c.Platform].Secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

func (s *Server) answer(w http.ResponseWriter, platformName, outcome string) {
	s.metrics.notices.WithLabelValues(platformName, outcome).Inc()
	w.WriteHeader(http.StatusOK)
}

// refuse answers without telling more than the status.
func (s *Server) refuse(w http.ResponseWriter, status int, wait time.Duration, platformName, outcome string) {
	s.metrics.notices.WithLabelValues(platformName, outcome).Inc()
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	}
	http.Error(w, http.StatusText(status), status)
}

// knownConnection is what the receiver knows of a connection.
type knownConnection struct {
	commerce.LeasedConnection
	secret string
	read   time.Time
}

// knownConnections keeps connections for a moment: many notices come of one.
type knownConnections struct {
	mu   sync.Mutex
	byID map[string]knownConnection
}

func newKnownConnections() *knownConnections {
	return &knownConnections{byID: map[string]knownConnection{}}
}

func (k *knownConnections) get(id string, now time.Time) (knownConnection, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c, found := k.byID[id]
	return c, found && now.Sub(c.read) < knownLife
}

func (k *knownConnections) put(c knownConnection) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.byID) >= maxKnown {
		clear(k.byID)
	}
	k.byID[c.ID] = c
}

func (k *knownConnections) forget(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.byID, id)
}
