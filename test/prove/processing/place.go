// Package processing proves what is promised of the processor: the same ledger from the
// same facts, however they come and whatever happens to the processor; live orders
// beside a long job; memory and cost however much is stored.
//
// A run starts the built binary's processor on a Kafka and a PostgreSQL of its own, and
// writes the records itself, as edge and admin would.
//
// What may enter: starting, breaking and loading the real programs. No service of ours is
// imported.
package processing

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/dev/child"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/bench/copied"
	"github.com/tributary-io/tributary/test/kafkadist"
)

// partitions of events.v1 and commerce.v1.
const partitions = 8

// patience bounds everything that is waited for; only what is broken takes so long.
const patience = 5 * time.Minute

// Place is what a run needs of the machine.
type Place struct {
	Binary string // tributary
	Dir    string // for the processors' output
	DSN    string // of a migrated database of the run's own
	// ServerPid is the PostgreSQL server's process; 0: its CPU time is not measured.
	ServerPid int
	// Kafka starts an empty Kafka that the run has for itself.
	Kafka func(ctx context.Context) (Kafka, error)
	Say   func(format string, args ...any)
	// Poll is how often it is looked whether all is applied; 0: each 20 ms. On a cluster each look asks all shards.
	Poll time.Duration
}

// Kafka is a running Kafka.
type Kafka struct {
	Addr string
	Stop func()
	// Pause stops it by SIGSTOP, and Continue lets it go on; nil: it is the embedded one.
	Pause, Continue func() error
}

// stand is a database with stores, and the processors that run on it.
type stand struct {
	Place
	db        *copied.Database
	postgres  *postgres.DB
	rules     *merchant.Store
	companies []company
	empty     []string // the tables that no processor has filled yet
	maxData   int      // bytes: the hard limit on each processor's data; 0: none
	processes []*process
}

// company is one store's, with its influencers' ids.
type company struct {
	id          string
	influencers []string
}

// newStand makes the stores in the place's database. Call close when done.
func newStand(ctx context.Context, p Place, stores int) (s *stand, err error) {
	s = &stand{Place: p}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(ctx))
		}
	}()
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		return s, err
	}
	if s.db, err = copied.Open(ctx, p.DSN); err != nil {
		return s, err
	}
	if s.postgres, err = postgres.Open(ctx, p.DSN); err != nil {
		return s, err
	}
	s.rules = merchant.New(s.postgres)
	for n := range stores {
		if err := s.addStore(ctx, n); err != nil {
			return s, err
		}
	}
	if err := s.db.Truncate(ctx, "outbox"); err != nil { // the processor reads the rules themselves
		return s, err
	}
	s.empty, err = s.db.Empty(ctx)
	return s, err
}

// names are the influencers of each store.
var names = []string{"Ana Prado", "Beto Lima", "Caio Sá"}

// addStore makes a store whose influencers have a coupon each and earn 10 %.
func (s *stand) addStore(ctx context.Context, n int) error {
	store, err := s.rules.CreateStore(ctx,
		commerce.NewStore{Name: fmt.Sprint("Loja ", n+1), Actor: "cli", Random: rand.Reader, KeyCheck: func(string) string { return "" }})
	if err != nil {
		return err
	}
	c := company{id: store.Live.CompanyID}
	for i, name := range names {
		made, err := s.rules.RegisterInfluencer(ctx, s.author(c), commerce.Registration{
			Name: name, Campaign: "Inverno", Costs: []commerce.CostTerms{{VarFee: decimal.NewFromInt(10), StartDate: "2020-01-01"}},
			Coupons: []commerce.CouponTerms{{Code: codes[i]}},
		}, rand.Reader)
		if err != nil {
			return err
		}
		c.influencers = append(c.influencers, made.InfluencerID)
	}
	s.companies = append(s.companies, c)
	return nil
}

// codes are the influencers' coupons.
var codes = []string{"ANA10", "BETO", "CAIO"}

func (s *stand) author(c company) commerce.Author {
	return commerce.Author{CompanyID: c.id, Actor: "cli", At: time.Now()}
}

func (s *stand) close(ctx context.Context) (err error) {
	for _, p := range s.processes {
		p.child.Stop(patience, syscall.SIGKILL)
	}
	if s.postgres != nil {
		s.postgres.Close()
	}
	if s.db != nil {
		err = s.db.Close(context.WithoutCancel(ctx))
	}
	return err
}

// topics is an empty Kafka, and what writes to it.
type topics struct {
	Kafka
	client   *kafka.Client
	producer *kafka.Producer
	produced int64 // records
}

func (s *stand) newTopics(ctx context.Context) (_ *topics, err error) {
	t := &topics{}
	if t.Kafka, err = s.Place.Kafka(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	if t.client, err = kafka.NewClient(kafka.Config{Brokers: []string{t.Addr}, ClientID: "prove"}); err != nil {
		return nil, err
	}
	if err := t.client.EnsureTopics(ctx,
		kafka.TopicPlan{Partitions: partitions, Replication: 1, MinInsyncReplicas: 1, KeepForever: true}); err != nil {
		return nil, err
	}
	t.producer = kafka.NewProducer(t.client)
	return t, nil
}

func (t *topics) close() {
	if t.client != nil {
		t.client.Close()
	}
	t.Stop()
}

// record is one record of either topic.
type record struct {
	topic, company string
	value          []byte
}

// perBatch is how many records are produced together, below a broker's limit on a
// batch's bytes.
const perBatch = 400

// produce writes records, in order within a company.
func (t *topics) produce(ctx context.Context, records []record) error {
	byTopic := map[string][]kafka.Record{}
	for _, r := range records {
		byTopic[r.topic] = append(byTopic[r.topic], kafka.Record{Key: []byte(r.company), Value: r.value})
	}
	for _, topic := range []string{wire.TopicEvents, wire.TopicCommerce} {
		list := byTopic[topic]
		for len(list) > 0 {
			n := min(len(list), perBatch)
			if err := t.producer.Produce(ctx, topic, list[:n]...); err != nil {
				return err
			}
			list, t.produced = list[n:], t.produced+int64(n)
		}
	}
	return nil
}

// awaitApplied returns once all that was produced is applied and no order waits.
func (s *stand) awaitApplied(ctx context.Context, t *topics) error {
	return until(ctx, "all is applied", func() (bool, error) {
		if !background.Sleep(ctx, s.Poll) {
			return false, ctx.Err()
		}
		p, err := s.db.Progress(ctx)
		return p.Records == t.produced && p.Queued == 0, errors.Join(err, s.alive())
	})
}

// process is one `tributary processor`.
type process struct {
	child *child.Process
	name  string // of its connections to PostgreSQL
	addr  string
	ended bool // by us
	// fenced is how many of its batches were refused so far: set by scaleRun alone.
	fenced int
}

// startProcessor starts a processor before Kafka.
func (s *stand) startProcessor(t *topics) (*process, error) {
	addrs, err := kafkadist.FreeAddrs(1)
	if err != nil {
		return nil, err
	}
	addr := addrs[0]
	output, err := os.OpenFile(s.output(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	program := []string{s.Binary, "processor", "--kafka-brokers", t.Addr, "--addr", addr, "--log-level", "warn"}
	if s.maxData > 0 { // in kilobytes, soft and hard
		program = append([]string{"/bin/sh", "-c", `ulimit -d "$0" && exec "$@"`, strconv.Itoa(s.maxData >> 10)}, program...)
	}
	cmd := exec.Command(program[0], program[1:]...) //nolint:gosec,noctx // the program to prove; package child ends it
	p := &process{addr: addr, name: fmt.Sprint("processor ", len(s.processes)+1)}
	cmd.Env = append(os.Environ(), "TRIBUTARY_POSTGRES="+s.DSN, "PGAPPNAME="+p.name)
	cmd.Stdout, cmd.Stderr = output, output
	if p.child, err = child.Start(cmd, syscall.SIGKILL); err != nil {
		return nil, fmt.Errorf("processor: %w", err)
	}
	s.processes = append(s.processes, p)
	return p, nil
}

func (s *stand) output() string { return filepath.Join(s.Dir, "processor.log") }

// alive is an error if a processor has ended by itself.
func (s *stand) alive() error {
	for _, p := range s.processes {
		select {
		case <-p.child.Done():
			if !p.ended {
				return fmt.Errorf("a processor ended by itself: %w (%s)", errors.Join(errEnded, p.child.Err()), s.output())
			}
		default:
		}
	}
	return nil
}

var errEnded = errors.New("unexpected end")

// kill ends a processor by SIGKILL.
func (p *process) kill() {
	p.ended = true
	p.child.Stop(patience, syscall.SIGKILL)
}

// terminate ends a processor by SIGTERM.
func (p *process) terminate() {
	p.ended = true
	p.child.Stop(patience, syscall.SIGTERM, syscall.SIGKILL)
}

// partitionsOwned is how many partitions a processor owns now; 0 where it does not
// answer.
func (p *process) partitionsOwned(ctx context.Context) int {
	return p.metric(ctx, "tributary_processor_partitions")
}

// metric is the value of one of a processor's metrics without labels; 0 where it does not
// answer.
func (p *process) metric(ctx context.Context, name string) int {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.addr+"/metrics", nil)
	if err != nil {
		return 0
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	match := regexp.MustCompile(`(?m)^` + name + ` (\d+)$`).FindSubmatch(body)
	if err != nil || match == nil {
		return 0
	}
	n, _ := strconv.Atoi(string(match[1])) // the pattern has digits only
	return n
}

// verify is Verify of the stand's database.
func (s *stand) verify(ctx context.Context) (hash string, orders int, err error) {
	return Verify(ctx, s.Binary, s.DSN)
}

// Verify runs `tributary verify` of a binary on a database, and returns the ledger hash of the live rows, which is
// also that of a replay; an error where they differ.
func Verify(ctx context.Context, binary, dsn string) (hash string, orders int, err error) {
	cmd := exec.CommandContext(ctx, binary, "verify")
	cmd.Env = append(os.Environ(), "TRIBUTARY_POSTGRES="+dsn)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return "", 0, fmt.Errorf("verify: %w\n%s%s", err, out.Bytes(), complaints.Bytes())
	}
	match := verified.FindSubmatch(out.Bytes())
	if match == nil || !bytes.Equal(match[1], match[2]) {
		return "", 0, fmt.Errorf("verify wrote %q", out.Bytes())
	}
	orders, err = strconv.Atoi(string(match[3]))
	return string(match[1]), orders, err
}

var verified = regexp.MustCompile(`(?s)live\s+([0-9a-f]{64})\s+replayed\s+([0-9a-f]{64}).*Equal: (\d+) orders`)

// until asks again and again until ok, for patience at most. An error of ok ends it.
func until(ctx context.Context, what string, ok func() (bool, error)) error {
	return await.Poll(ctx, what, 20*time.Millisecond, patience, ok)
}
