package connect

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"hash/maphash"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// Bounds of what is kept of connections between visits.
const (
	maxSessions  = 10_000
	sessionLife  = 3 * time.Hour // unused; longer than pollOverlap, so that an order is not sent at each poll
	maxSentOrder = 10_000        // of one connection; twice as many at most
)

// session is what this process keeps of one connection between its visits. Only the visit uses it.
type session struct {
	used         time.Time
	opened       [sha256.Size]byte // of the sealed credentials that shop was opened with
	client       *platform.Client  // has the shop's budget, so it outlives a visit
	shop         platform.Shop
	secrets      platform.Credentials
	sent         sentOrders
	failures     int       // visits that failed since the last that did not
	retryAt      time.Time // nothing is asked of the shop before, but for a merchant who waits
	unread       int       // orders of notices in a row that could not be read
	compared     *comparison
	noticesAsked time.Time // when the shop was last asked for notices by this process
	turn         int       // whose turn it is, see visit.run
}

// sessions are those of all connections.
type sessions struct {
	mu   sync.Mutex
	byID map[string]*session
}

func newSessions() *sessions { return &sessions{byID: map[string]*session{}} }

// of returns a connection's session. Those that are not used any more are forgotten.
func (s *sessions) of(id string, now time.Time) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.byID[id]
	if one == nil {
		for other, it := range s.byID {
			if now.Sub(it.used) > sessionLife || len(s.byID) >= maxSessions && now.Sub(it.used) > time.Minute {
				it.close()
				delete(s.byID, other)
			}
		}
		one = &session{}
		s.byID[id] = one
	}
	one.used = now
	return one
}

// close ends idle connections to shops. No visit runs any more.
func (s *sessions) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range s.byID {
		it.close()
	}
}

func (s *session) close() {
	if s.client != nil {
		s.client.Close()
	}
}

// credentialsOf opens a connection's credentials. An *platform.Error where this service has not the key.
func (s *Server) credentialsOf(c commerce.LeasedConnection) (platform.Credentials, error) {
	bound := account.SealedFor{CompanyID: c.CompanyID, ConnectionID: c.ID, Purpose: account.SealCredentials}
	plain, err := s.Keys.Open(c.KeyID, bound, c.Sealed)
	if err != nil {
		return nil, &platform.Error{Reason: commerce.ShopNoService, Detail: "the service does not have the key of these credentials"}
	}
	var secrets platform.Credentials
	if err := json.Unmarshal(plain, &secrets); err != nil {
		return nil, &platform.Error{Reason: commerce.ShopRefusedKey, Detail: "the credentials cannot be read"}
	}
	return secrets, nil
}

// open opens the shop, where its credentials are not those of the last visit.
func (v *visit) open() error {
	sum := sha256.Sum256(v.c.Sealed)
	if v.shop != nil && v.opened == sum {
		return nil
	}
	p := v.platforms[v.c.Platform]
	if p == nil {
		return &platform.Error{Reason: commerce.ShopNoService, Detail: "the service does not know this platform"}
	}
	secrets, err := v.credentialsOf(v.c)
	if err != nil {
		return err
	}
	v.dial(p)
	shop, err := p.Open(secrets, v.client)
	if err != nil {
		return err
	}
	v.shop, v.secrets, v.opened = shop, secrets, sum
	return nil
}

// dial makes the client of the shop, where there is none. It has the shop's budget.
func (v *visit) dial(p platform.Platform) {
	if v.client != nil {
		return
	}
	options, requests := v.config.Options, v.metrics.requests.MustCurryWith(prometheus.Labels{"platform": v.c.Platform})
	options.Answered = func(status int) { requests.WithLabelValues(strconv.Itoa(status)).Inc() }
	v.client = platform.NewClient(p.Limits(), options)
}

// seal stores credentials sealed to the newest key.
func (v *visit) seal(ctx context.Context, secrets platform.Credentials) error {
	plain, err := json.Marshal(secrets)
	if err != nil {
		return err
	}
	change := commerce.ConnectStateChange{}
	change.Sealed, change.KeyID, err = v.Keys.Seal(v.bound(account.SealCredentials), plain)
	if err != nil {
		return err
	}
	if err := v.change(ctx, change); err != nil {
		return err
	}
	v.secrets, v.opened = secrets, sha256.Sum256(change.Sealed)
	return nil
}

// bound is to what secrets of the connection are sealed.
func (v *visit) bound(purpose string) account.SealedFor {
	return account.SealedFor{CompanyID: v.c.CompanyID, ConnectionID: v.c.ID, Purpose: purpose}
}

// sealAnew seals to the newest key what is sealed to an older one, which can then be taken out of the file.
func (v *visit) sealAnew(ctx context.Context) error {
	newest, _ := v.Keys.Newest()
	if v.shop != nil && v.c.KeyID != newest {
		if err := v.seal(ctx, v.secrets); err != nil {
			return err
		}
	}
	if v.key == "" || v.c.APIKeyKeyID == newest {
		return nil
	}
	change := commerce.ConnectStateChange{}
	var err error
	if change.SealedAPIKey, change.APIKeyKeyID, err = v.Keys.Seal(v.bound(account.SealAPIKey), []byte(v.key)); err != nil {
		return err
	}
	return v.change(ctx, change)
}

// noticeSecret is the name under which the service keeps, among the credentials, the secret that notices are signed with.
const noticeSecret = "notice_secret"

// ownSecret is the connection's secret for notices. It is made at its first use.
func (v *visit) ownSecret(ctx context.Context) (string, error) {
	if secret := v.secrets[noticeSecret]; secret != "" {
		return secret, nil
	}
	secrets := platform.Credentials{noticeSecret: rand.Text() + rand.Text()}
	maps.Copy(secrets, v.secrets)
	if err := v.seal(ctx, secrets); err != nil {
		return "", err
	}
	return secrets[noticeSecret], nil
}

// sentOrders remembers what was sent lately: each poll reads orders again that were changed shortly before. The zero value is ready.
type sentOrders struct {
	seed         maphash.Seed
	seeded       bool
	newer, older map[string]uint64
}

// sum is of all that is sent of an order.
func (o *sentOrders) sum(parts ...[]byte) uint64 {
	if !o.seeded {
		o.seed, o.seeded = maphash.MakeSeed(), true
	}
	var h maphash.Hash
	h.SetSeed(o.seed)
	for _, part := range parts {
		_, _ = h.Write(part) // it never fails
	}
	return h.Sum64()
}

func (o *sentOrders) has(id string, sum uint64) bool {
	known, found := o.newer[id]
	if !found {
		known, found = o.older[id]
	}
	return found && known == sum
}

// forget has an order sent again that is read as it was sent.
func (o *sentOrders) forget(id string) {
	delete(o.newer, id)
	delete(o.older, id)
}

func (o *sentOrders) add(id string, sum uint64) {
	if o.newer == nil || len(o.newer) >= maxSentOrder {
		o.older, o.newer = o.newer, map[string]uint64{}
	}
	o.newer[id] = sum
}
