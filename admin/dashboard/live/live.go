package live

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
)

// Viewer is who watches, as the dashboard's log-in says.
type Viewer struct {
	PersonID string
	Company  commerce.Access
	Until    time.Time // the socket ends then, and the page comes back with a newer cookie
}

// Update is one message and how far it brings a page.
type Update struct {
	Cursor commerce.Cursor
	Body   []byte // JSON
}

// Feed reads what pages show. Implemented by dashboard.Server.
type Feed interface {
	// Changed lists the orders of a day processed after the cursor; of many,
	// those that were created last.
	Changed(ctx context.Context, companyID, day string, since commerce.Cursor) ([]commerce.Sale, error)
	// Update is the day's sums and the named orders as they stand now.
	Update(ctx context.Context, company commerce.Access, day string, orderIDs []string) (Update, error)
}

// Config bounds the hub; a zero field takes its default.
type Config struct {
	Sockets          int           // open at once; default 1000
	SocketsPerPerson int           // default 20
	Queue            int           // messages waiting for one socket, then it is closed to catch up; default 16
	Interval         time.Duration // least time between two messages to a page; default 200 ms
	Poll             time.Duration // how often the cursor is compared in case hints were lost; default 5 s
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
	return c
}

// Deps is what the hub needs of others. All but Log are required.
type Deps struct {
	Feed Feed
	// Viewer tells who asks and whether they may watch the company; it may set
	// cookies on w. On an error the socket is refused.
	Viewer func(w http.ResponseWriter, r *http.Request, companyID string) (Viewer, error)
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
	wake    chan struct{} // capacity 1: some topic has work
	serving sync.WaitGroup
}

// New makes a hub; nothing is sent until Run.
func New(config Config, deps Deps) *Hub {
	if deps.Log == nil {
		deps.Log = slog.New(slog.DiscardHandler)
	}
	return &Hub{
		config: config.withDefaults(), deps: deps,
		topics: map[topicKey]*topic{}, sockets: map[string]int{}, wake: make(chan struct{}, 1),
	}
}
