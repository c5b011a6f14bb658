package live

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

const (
	writeTimeout = 10 * time.Second
	// pongTimeout is how long a client may send nothing. Pings are sent more
	// often, also because many proxies close a connection that is idle for 60 s.
	pongTimeout  = 60 * time.Second
	pingInterval = 25 * time.Second
	// readLimit in bytes: our pages send no messages.
	readLimit = 512
	// maxLang bounds the tag of a language, in bytes (RFC 5646, 4.4.1).
	maxLang = 35
)

var errBadLang = errors.New("lang is no tag of a language")

// Reasons for which the hub closes a socket (RFC 6455, 7.4.1). The page opens
// another with its cursor in all three cases.
const (
	closeGoingAway = websocket.CloseGoingAway     // the service stops
	closeTooSlow   = websocket.CloseTryAgainLater // its queue was full
	closeExpired   = 4001                         // the log-in has to be renewed
)

// socket is the connection of one open page. Only the goroutine of its request
// writes to conn.
type socket struct {
	viewer Viewer
	conn   *websocket.Conn
	queue  chan []byte
	done   chan struct{} // closed, under the hub's mutex, when it has to end
	code   int           // why; set before done is closed
}

// send queues a message, or closes a socket whose queue is full. The caller holds
// the hub's mutex.
func (s *socket) send(body []byte) {
	select {
	case <-s.done:
	case s.queue <- body:
	default:
		s.close(closeTooSlow)
	}
}

// close makes the writer end. The caller holds the hub's mutex.
func (s *socket) close(code int) {
	select {
	case <-s.done:
	default:
		s.code = code
		close(s.done)
	}
}

// ServeHTTP opens a socket for ?company=…&day=YYYY-MM-DD&lang=…&cursor=…, sends what
// changed since the cursor, and then all updates until the socket is closed.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key, cursor, err := parseQuery(r.URL.Query())
	if err != nil {
		http.Error(w, "bad request: "+err.Error(), http.StatusBadRequest)
		return
	}
	if !h.originAllowed(r) {
		http.Error(w, "forbidden origin", http.StatusForbidden)
		return
	}
	viewer, err := h.deps.Viewer(w, r, key.companyID)
	switch {
	case errors.Is(err, commerce.ErrUnavailable):
		w.Header().Set("Retry-After", "5")
		http.Error(w, "not available just now", http.StatusServiceUnavailable)
		return
	case err != nil:
		http.Error(w, "log in first", http.StatusUnauthorized)
		return
	}
	if now := time.Now(); cursor.At.After(now) {
		cursor = commerce.Cursor{At: now}
	}
	s := &socket{viewer: viewer, queue: make(chan []byte, h.config.Queue), done: make(chan struct{})}
	t, ok := h.join(s, key, cursor)
	if !ok {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many open pages", http.StatusServiceUnavailable)
		return
	}
	defer h.serving.Done()
	defer h.leave(s, t)
	upgrader := websocket.Upgrader{
		HandshakeTimeout: writeTimeout,
		ReadBufferSize:   readLimit,
		CheckOrigin:      func(*http.Request) bool { return true }, // checked above
	}
	answer := http.Header{}
	if cookies := w.Header().Values("Set-Cookie"); len(cookies) > 0 {
		answer["Set-Cookie"] = cookies
	}
	if s.conn, err = upgrader.Upgrade(w, r, answer); err != nil {
		return // Upgrade has answered
	}
	h.serve(r.Context(), s, key, cursor)
}

// serve writes to an open socket. Another goroutine, for which it waits, reads
// pongs and the close from the client.
func (h *Hub) serve(ctx context.Context, s *socket, key topicKey, cursor commerce.Cursor) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		s.readUntilClosed()
	}()
	defer func() {
		_ = s.conn.Close() // the client may have closed it
		<-read
	}()
	// The socket has joined its topic, so updates from now on are queued and none
	// is missed. A page shows an order that comes twice once.
	first, err := h.catchUp(ctx, s.viewer.Company, key, cursor)
	if err != nil {
		h.deps.Log.Warn("live: cannot catch a page up", "company", key.companyID, "error", err)
		s.sendClose(closeTooSlow)
		return
	}
	if s.write(first.Body) != nil {
		return
	}
	ping := time.NewTicker(pingInterval)
	defer ping.Stop()
	expire := time.NewTimer(time.Until(s.viewer.Until))
	defer expire.Stop()
	for {
		select {
		case <-read:
			return
		case <-s.done:
			s.sendClose(s.code)
			return
		case <-expire.C:
			s.sendClose(closeExpired)
			return
		case <-ping.C:
			if s.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeTimeout)) != nil {
				return
			}
		case body := <-s.queue:
			if s.write(body) != nil {
				return
			}
		}
	}
}

func (h *Hub) catchUp(ctx context.Context, company account.Access, key topicKey, cursor commerce.Cursor) (Update, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	changed, err := h.deps.Feed.Changed(ctx, company.CompanyID, key.day, beforeOverlap(cursor))
	if err != nil {
		return Update{}, err
	}
	ids := make([]string, len(changed))
	for i, sale := range changed {
		ids[i] = sale.OrderID
	}
	return h.deps.Feed.Update(ctx, company, key.day, key.lang, ids)
}

func (s *socket) write(body []byte) error {
	if err := s.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	return s.conn.WriteMessage(websocket.TextMessage, body)
}

func (s *socket) sendClose(code int) {
	message := websocket.FormatCloseMessage(code, "")
	_ = s.conn.WriteControl(websocket.CloseMessage, message, time.Now().Add(time.Second))
}

func (s *socket) readUntilClosed() {
	s.conn.SetReadLimit(readLimit)
	alive := func(string) error { return s.conn.SetReadDeadline(time.Now().Add(pongTimeout)) }
	_ = alive("")
	s.conn.SetPongHandler(alive)
	for {
		if _, _, err := s.conn.NextReader(); err != nil {
			return
		}
	}
}

// join puts a socket into its topic, unless the hub is full or has stopped.
func (h *Hub) join(s *socket, key topicKey, cursor commerce.Cursor) (*topic, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped || h.open >= h.config.Sockets || h.sockets[s.viewer.PersonID] >= h.config.SocketsPerPerson {
		return nil, false
	}
	t := h.topics[key]
	if t == nil {
		t = newTopic(key, s.viewer.Company, cursor)
		h.topics[key] = t
	}
	t.sockets[s] = struct{}{}
	h.sockets[s.viewer.PersonID]++
	h.open++
	h.serving.Add(1)
	return t, true
}

func (h *Hub) leave(s *socket, t *topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(t.sockets, s)
	if len(t.sockets) == 0 && h.topics[t.key] == t {
		delete(h.topics, t.key)
	}
	if h.sockets[s.viewer.PersonID]--; h.sockets[s.viewer.PersonID] == 0 {
		delete(h.sockets, s.viewer.PersonID)
	}
	h.open--
}

// originAllowed refuses pages of other sites: a browser sends our cookies with
// their sockets too, and makes no preflight request.
func (h *Hub) originAllowed(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	u, err := url.Parse(origin)
	if origin == "" || err != nil {
		return false
	}
	return strings.EqualFold(u.Host, r.Host) || slices.Contains(h.config.Origins, origin)
}

func parseQuery(q url.Values) (topicKey, commerce.Cursor, error) {
	key := topicKey{companyID: q.Get("company"), day: q.Get("day"), lang: q.Get("lang")}
	if len(key.lang) > maxLang {
		return topicKey{}, commerce.Cursor{}, errBadLang
	}
	if _, err := commerce.ParseDay(key.day, time.UTC); err != nil {
		return topicKey{}, commerce.Cursor{}, err
	}
	cursor, err := commerce.ParseCursor(q.Get("cursor"))
	return key, cursor, err
}
