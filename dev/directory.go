package dev

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/tributary-io/tributary/dev/filelock"
)

// lockDirectory makes the data directory and locks it.
func (p *program) lockDirectory() (unlock func(), err error) {
	// Others may enter it, since PostgreSQL may run as another user. Its files are private.
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("the data directory cannot be made: %w", err)
	}
	unlock, err = filelock.Try(filepath.Join(p.Dir, "dev.lock"))
	if errors.Is(err, filelock.ErrLocked) {
		return nil, fmt.Errorf("another `tributary dev` runs on %s: %w", p.Dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("the data directory %s cannot be written: %w", p.Dir, err)
	}
	// One of an earlier start: programs may be waiting until it appears again.
	if err := os.Remove(p.infoFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		unlock()
		return nil, fmt.Errorf("the data directory %s cannot be written: %w", p.Dir, err)
	}
	return unlock, nil
}

// listen opens the ports. It is called before anything slow, so that a
// port in use is reported at once.
func (p *program) listen() (err error) {
	for _, one := range []struct {
		flag, addr string
		listener   *net.Listener
	}{
		{"edge-addr", p.EdgeAddr, &p.listeners.edge},
		{"admin-addr", p.AdminAddr, &p.listeners.admin},
		{"storefront-addr", p.StorefrontAddr, &p.listeners.storefront},
		{"connect-addr", p.ConnectAddr, &p.listeners.connect},
	} {
		if *one.listener, err = p.services.Listen(one.flag, one.addr); err != nil {
			return err
		}
	}
	edgeURL, adminURL := origin(p.listeners.edge), origin(p.listeners.admin)
	p.info = Info{
		EdgeURL: edgeURL, ShortURL: edgeURL + "/s", StorefrontURL: origin(p.listeners.storefront),
		AdminURL: adminURL + "/admin/v1", SandboxURL: adminURL + "/sandbox/admin/v1", DashboardURL: adminURL + "/dashboard",
	}
	return nil
}

// addressOf returns the host:port by which this machine reaches a listener. For
// one on all addresses (0.0.0.0, ::) that is loopback.
func addressOf(l net.Listener) string {
	addr := l.Addr().(*net.TCPAddr)
	if addr.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", strconv.Itoa(addr.Port))
	}
	return addr.String()
}

func origin(l net.Listener) string { return "http://" + addressOf(l) }
