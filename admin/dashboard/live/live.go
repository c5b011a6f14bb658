package live

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// Viewer is the person who has a page open.
type Viewer struct {
	PersonID string
	Family   string // of the session
	Company  account.Access
	Until    time.Time // the socket is closed then, and the page opens another with a newer cookie
}

// Update is one message, and the cursor of a page that has received it.
type Update struct {
	Cursor commerce.Cursor
	Body   []byte // JSON
}

// Feed reads what pages show. Implemented by dashboard.Server.
type Feed interface {
	// Changed returns the orders of a day that were processed after the cursor.
	// Of many it returns those that were created last.
	Changed(ctx context.Context, companyID, day string, since commerce.Cursor) ([]commerce.Sale, error)
	// Update returns the day's sums and the named orders as they are now, in a
	// language; the first one where there is none of that tag.
	Update(ctx context.Context, company account.Access, day, lang string, orderIDs []string) (Update, error)
}

// Config bounds the hub. Every field has a default for its zero value.
type Config struct {
	Sockets          int           // open at once; default 1000
	SocketsPerPerson int           // default 20
	Queue            int           // messages that may wait for one socket; with more it is closed, and the page opens another; default 16
	Interval         time.Duration // least time between two messages to a page; default 200 ms
	Poll             time.Duration // how often changes are looked for without a hint; default 5 s
	Check            time.Duration // how often sessions that have ended are looked for; default 5 s
	Origins          []string      // allowed besides the page's own host: "https://app.example.com"
}

func (c Config) withDefaults() Config {
	if c.Sockets == 0 {
		c.Sockets = 1000
	}
	if c.SocketsPerPerson == 0 {
		c.SocketsPerPerson = 20
	}
	if c.Queue == 0 {
		c.Queue = 16
	}
	if c.Interval == 0 {
		c.Interval = 200 * time.Millisecond
	}
	if c.Poll == 0 {
		c.Poll = 5 * time.Second
	}
	if c.Check == 0 {
		c.Check = 5 * time.Second
	}
	return c
}

// Deps is what the hub uses. All but Log are required.
type Deps struct {
	Feed Feed
	// Viewer returns the person who asks for a socket, or an error where they may
	// not see the company; commerce.ErrUnavailable where that cannot be found out
	// now. It may set cookies on w.
	Viewer func(w http.ResponseWriter, r *http.Request, companyID string) (Viewer, error)
	// Still returns those who may still look. It is asked for all open sockets every
	// Config.Check and after Recheck; the sockets of the others are closed. nil: a
	// socket lasts until Viewer.Until.
	Still func(ctx context.Context, list []account.Watch) ([]account.Watch, error)
	// Hints calls handle with the value of each new record of results.v1 until
	// ctx ends. When it returns earlier it is called again after a pause.
	Hints func(ctx context.Context, handle func(value []byte) error) error
	Log   *slog.Logger
}

// Hub holds the open sockets. Serve it at one path, and Run it.
type Hub struct {
	config Config
	deps   Deps

	mu      sync.Mutex
	topics  map[topicKey]*topic
	sockets map[string]int // by person
	open    int
	stopped bool
	wake    chan struct{} // of capacity 1: there is work for refreshAll
	ended   chan struct{} // of capacity 1: a session may have ended
	serving sync.WaitGroup
}

// New makes a hub; nothing is sent until Run.
func New(config Config, deps Deps) *Hub {
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	return &Hub{
		config: config.withDefaults(), deps: deps,
		topics: map[topicKey]*topic{}, sockets: map[string]int{}, wake: make(chan struct{}, 1), ended: make(chan struct{}, 1),
	}
}
