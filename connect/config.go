package connect

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/throttle"
	"github.com/tributary-io/tributary/internal/tracing"
)

// Config says how the service behaves. The zero value of each field is its default.
type Config struct {
	// AdminURL is where the admin API answers, such as http://127.0.0.1:7701. Needed.
	AdminURL string
	// PublicURL is where platforms reach this service, such as https://connect.example.com. Empty: they do not, and all orders come
	// by polling.
	PublicURL string
	// Apps are the operator's apps at platforms that have them, by the platform's name.
	Apps map[string]App
	// Options are how shops' servers are asked.
	Options platform.Options

	Workers   int           // connections that are worked on at once: 64, more than a company may have
	Slice     time.Duration // a connection's turn, until another one's: 30 s
	LookEvery time.Duration // how often it is looked for connections that have something to do: 1 s
	Lease     time.Duration // how long a connection of a process that died stays its own: 1 min
	Drain     time.Duration // at the end, for storing what was done: 5 s

	// CompareAgain is how long after an order was sent again it is compared again: as long as it may take to be stored. 1 min.
	CompareAgain time.Duration

	// Leaving tells that the process is about to stop: /readyz says so; nil: never.
	Leaving func() bool
	// Internal says that Server.Internal is served on a port of its own: then Handler has neither /metrics nor details.
	Internal bool
	// ClientAddress names who sent a request; nil: the address of its connection.
	ClientAddress func(*http.Request) string
}

// App is what the operator registered at a platform.
type App struct {
	platform.App
	FormerSecret string // which the platform may still sign with; empty: none
}

// secrets are what its notices may be signed with.
func (a App) secrets() (list []string) {
	for _, secret := range []string{a.Secret, a.FormerSecret} {
		if secret != "" {
			list = append(list, secret)
		}
	}
	return list
}

// Deps are what the service works with. Database, Platforms and Keys are needed.
type Deps struct {
	Database  Database
	Platforms []platform.Platform
	Keys      *account.SealKeys // which open what merchants' credentials were sealed with
	Logger    *slog.Logger
	Registry  *prometheus.Registry
	Now       func() time.Time
	Tracer    *tracing.Tracer // nil: nothing is recorded
}

func (c Config) withDefaults() (Config, error) {
	for name, address := range map[string]string{"AdminURL": c.AdminURL, "PublicURL": c.PublicURL} {
		u, err := url.Parse(address)
		if name == "PublicURL" && address == "" {
			continue
		}
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.User != nil {
			return c, fmt.Errorf("connect: %s is no address of a server, such as https://connect.example.com", name)
		}
	}
	c.AdminURL, c.PublicURL = strings.TrimRight(c.AdminURL, "/"), strings.TrimRight(c.PublicURL, "/")
	c.Workers = cmp.Or(c.Workers, 64)
	c.Slice = cmp.Or(c.Slice, 30*time.Second)
	c.LookEvery = cmp.Or(c.LookEvery, time.Second)
	c.Lease = cmp.Or(c.Lease, time.Minute)
	c.Drain = cmp.Or(c.Drain, 5*time.Second)
	c.CompareAgain = cmp.Or(c.CompareAgain, time.Minute)
	c.Options.UserAgent = cmp.Or(c.Options.UserAgent, "Tributary")
	if c.ClientAddress == nil {
		c.ClientAddress = throttle.RemoteIP
	}
	return c, nil
}

func (d Deps) withDefaults() (Deps, error) {
	if d.Database == nil || len(d.Platforms) == 0 || d.Keys == nil {
		return d, errors.New("connect: Deps needs a Database, Platforms and Keys")
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.Registry == nil {
		d.Registry = prometheus.NewRegistry()
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	return d, nil
}
