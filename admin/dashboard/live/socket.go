package live

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/tributary-io/tributary/internal/commerce"
)

const (
	writeTimeout = 10 * time.Second
	// pongTimeout is how long a silent peer is believed alive; pings go out well
	// before (proxies commonly close what is idle for 60 s).
	pongTimeout  = 60 * time.Second
	pingInterval = 25 * time.Second
	// readLimit: pages have nothing to say, so a larger message is no page.
	readLimit = 512
)

// Reasons for which the hub closes a socket (RFC 6455, 7.4.1). The page opens
// another with its cursor in all three cases.
const (
	closeGoingAway = websocket.CloseGoingAway     // the service stops
	closeTooSlow   = websocket.CloseTryAgainLater // its queue was full
	closeExpired   = 4001                         // the log-in has to be renewed
)

// socket is one open page. Its writer goroutine alone writes to conn.
type socket struct {
	viewer Viewer
	conn   *websocket.Conn
	queue  chan []byte
	done   chan struct{} // closed, under the hub's mutex, when it has to end
	code   int           // why; set before done is closed
}

// send queues a message, or ends a socket that does not keep up. The hub's
// mutex is held.
func (s *socket) send(body []byte) {
	select {
	case <-s.done:
	case s.queue <- body:
	default:
		s.close(closeTooSlow)
	}
}

// close asks the writer to end. The hub's mutex is held.
func (s *socket) close(code int) {
	select {
	case <-s.done:
	default:
		s.code = code
		close(s.done)
	}
}

// ServeHTTP opens a socket for ?company=…&day=YYYY-MM-DD&cursor=…, catches it
// up, and feeds it until it ends.
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
	if err != nil {
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

// serve writes to an open socket while another goroutine, which it waits for,
// reads what the peer says: nothing but pongs and its close.
func (h *Hub) serve(ctx context.Context, s *socket, key topicKey, cursor commerce.Cursor) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		s.readUntilClosed()
	}()
	defer func() {
		_ = s.conn.Close() // the peer may be gone
		<-read
	}()
	// Since it has joined, what happens from now on is queued: between the two
	// nothing is missed, and what comes twice is the same to the page.
	first, err := h.catchUp(ctx, s.viewer.Company, key.day, cursor)
	if err != nil {
		h.deps.Log.Warn("live: cannot catch a page up", "company", key.companyID, "error", err)
		s.sayClose(closeTooSlow)
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
			s.sayClose(s.code)
			return
		case <-expire.C:
			s.sayClose(closeExpired)
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

func (h *Hub) catchUp(ctx context.Context, company commerce.Access, day string, cursor commerce.Cursor) (Update, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	changed, err := h.deps.Feed.Changed(ctx, company.CompanyID, day, back(cursor))
	if err != nil {
		return Update{}, err
	}
	ids := make([]string, len(changed))
	for i, sale := range changed {
		ids[i] = sale.OrderID
	}
	return h.deps.Feed.Update(ctx, company, day, ids)
}

func (s *socket) write(body []byte) error {
	if err := s.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	return s.conn.WriteMessage(websocket.TextMessage, body)
}

func (s *socket) sayClose(code int) {
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

// originAllowed refuses other sites' pages: a browser sends cookies with any
// page's socket, and no preflight asks first.
func (h *Hub) originAllowed(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	u, err := url.Parse(origin)
	if origin == "" || err != nil {
		return false
	}
	return strings.EqualFold(u.Host, r.Host) || slices.Contains(h.config.Origins, origin)
}

func parseQuery(q url.Values) (topicKey, commerce.Cursor, error) {
	key := topicKey{companyID: q.Get("company"), day: q.Get("day")}
	if _, err := commerce.ParseDay(key.day, time.UTC); err != nil {
		return topicKey{}, commerce.Cursor{}, err
	}
	cursor, err := commerce.ParseCursor(q.Get("cursor"))
	return key, cursor, err
}
