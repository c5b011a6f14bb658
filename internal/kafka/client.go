package kafka

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	"github.com/tributary-io/tributary/internal/wire"
)

// Config says how to reach the brokers. The zero value of each field but
// Brokers is a plain connection.
type Config struct {
	Brokers  []string // host:port
	ClientID string
	TLS      *tls.Config
	SASL     SASL
	// TopicPrefix begins the name of every topic and consumer group on the cluster; callers name them without it.
	TopicPrefix string
}

// SASL credentials; an empty Mechanism is none.
type SASL struct {
	Mechanism string // PLAIN | SCRAM-SHA-256 | SCRAM-SHA-512
	Username  string
	Password  string

	// Renew returns the password for each new connection: it may change while the client is in use; nil: Password stays. Where it fails,
	// the last one that it returned is used, or Password.
	Renew func() (string, error)
	// Log says when Renew begins to fail; nil: nothing does.
	Log *slog.Logger

	last *lastPassword // NewClient makes it
}

// Record is one Kafka record. A nil Value is a tombstone.
type Record = wire.Record

// Client is a connection pool to one cluster; safe for concurrent use.
type Client struct {
	config    Config
	mechanism sasl.Mechanism
	transport *kafka.Transport
	client    *kafka.Client
	asking    asking
}

// Named is the name on the cluster of a topic or a consumer group.
func (c *Client) Named(name string) string { return c.config.TopicPrefix + name }

// dialTimeout bounds a connection attempt: a broker that does not answer
// within it is treated as down.
const dialTimeout = 5 * time.Second

// prefixForm leaves room for our names: Kafka's have 249 characters at most, of these kinds.
var prefixForm = regexp.MustCompile(`^[A-Za-z0-9._-]{0,100}$`)

// NewClient makes a client; nothing is dialled yet. Close it when done.
func NewClient(config Config) (*Client, error) {
	if len(config.Brokers) == 0 {
		return nil, errors.New("kafka: no broker address given")
	}
	if !prefixForm.MatchString(config.TopicPrefix) {
		return nil, fmt.Errorf("kafka: the topic prefix %q may have letters, digits, dots, underscores and hyphens, 100 at most",
			config.TopicPrefix)
	}
	config.SASL.last = &lastPassword{password: config.SASL.Password}
	var mechanism sasl.Mechanism // nil: none
	if config.SASL.Mechanism != "" {
		var err error
		if mechanism, err = config.SASL.mechanism(); err != nil {
			return nil, err
		}
	}
	transport := &kafka.Transport{
		ClientID:    config.ClientID,
		TLS:         config.TLS,
		SASL:        mechanism,
		DialTimeout: dialTimeout,
		// The metadata of a moved leader is stale for at most this long.
		MetadataTTL: 2 * time.Second,
	}
	return &Client{
		config:    config,
		mechanism: mechanism,
		transport: transport,
		client:    &kafka.Client{Addr: kafka.TCP(config.Brokers...), Transport: transport},
	}, nil
}

// Close drops idle connections.
func (c *Client) Close() {
	c.transport.CloseIdleConnections()
	c.asking.once.Do(func() { c.asking.err = errClosed })
	if c.asking.client != nil {
		c.asking.client.Close()
	}
}

var errClosed = errors.New("the client is closed")

// password is the one of a new connection. The first call of Renew that fails after one that did not is logged.
func (s SASL) password() string {
	if s.Renew == nil {
		return s.Password
	}
	password, err := s.Renew()
	s.last.mu.Lock()
	defer s.last.mu.Unlock()
	if err == nil {
		s.last.password, s.last.failed = password, false
	} else if !s.last.failed {
		s.last.failed = true
		if s.Log != nil {
			s.Log.Error("Kafka's password cannot be read again; the one before is used", "error", err)
		}
	}
	return s.last.password
}

// lastPassword is the last password that Renew returned. It is shared by the copies of a SASL.
type lastPassword struct {
	mu       sync.Mutex
	password string
	failed   bool // Renew failed the last time
}

// renewed is a mechanism whose password is read for each connection.
type renewed struct {
	sasl.Mechanism
	of SASL
}

// Start implements sasl.Mechanism.
func (r renewed) Start(ctx context.Context) (sasl.StateMachine, []byte, error) {
	fixed := r.of
	fixed.Password, fixed.Renew = r.of.password(), nil
	now, err := fixed.mechanism()
	if err != nil {
		return nil, nil, err
	}
	return now.Start(ctx)
}

func (s SASL) mechanism() (sasl.Mechanism, error) {
	if s.Renew != nil {
		fixed := s
		fixed.Renew = nil
		first, err := fixed.mechanism()
		return renewed{first, s}, err
	}
	switch s.Mechanism {
	case "PLAIN":
		return plain.Mechanism{Username: s.Username, Password: s.Password}, nil
	case "SCRAM-SHA-256":
		return scram.Mechanism(scram.SHA256, s.Username, s.Password)
	case "SCRAM-SHA-512":
		return scram.Mechanism(scram.SHA512, s.Username, s.Password)
	}
	return nil, fmt.Errorf("kafka: unknown SASL mechanism %q (PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512)", s.Mechanism)
}

// readBuffer is how many bytes are read from a connection at a time: kafka-go itself reads
// 4 KiB, which is four events. A processor has two connections for each partition.
const readBuffer = 32 << 10

// bufferedConn reads ahead from its connection.
type bufferedConn struct {
	net.Conn
	reader *bufio.Reader
}

func (c *bufferedConn) Read(into []byte) (int, error) { return c.reader.Read(into) }

// dialer is for kafka-go's Reader and ConsumerGroup, which do not take a Transport.
func (c *Client) dialer() *kafka.Dialer {
	plain := net.Dialer{Timeout: dialTimeout} // as kafka-go makes it
	return &kafka.Dialer{
		DialFunc: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := plain.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &bufferedConn{conn, bufio.NewReaderSize(conn, readBuffer)}, nil
		},
		ClientID:      c.config.ClientID,
		Timeout:       dialTimeout,
		DualStack:     true,
		TLS:           c.config.TLS,
		SASLMechanism: c.mechanism,
	}
}

// pollWait is after how long a Reader gives up a broker that says nothing. kafka-go has a broker that has no record answer a second
// before that; records are sent as soon as they come.
const pollWait = 3 * time.Second

// readingDialer is for a Reader that reads until ctx ends: its connections end then too. Otherwise it could be closed only once
// the broker has answered.
func (c *Client) readingDialer(ctx context.Context) *kafka.Dialer {
	dialer := c.dialer()
	dial, config := dialer.DialFunc, dialer.TLS
	dialer.TLS = nil // kafka-go leaves a connection open whose handshake failed, and here ctx would hold it
	dialer.DialFunc = func(dialing context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(dialing, network, address)
		if err == nil && config != nil {
			conn, err = handshake(dialing, conn, config, address)
		}
		if err != nil {
			return nil, err
		}
		return &endingConn{conn, context.AfterFunc(ctx, func() { _ = conn.Close() })}, nil
	}
	return dialer
}

// handshake begins TLS. Where it fails, the connection is closed.
func handshake(ctx context.Context, plain net.Conn, config *tls.Config, address string) (net.Conn, error) {
	if config.ServerName == "" { // as kafka-go does
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, errors.Join(err, plain.Close())
		}
		config = config.Clone()
		config.ServerName = host
	}
	conn := tls.Client(plain, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, plain.Close())
	}
	return conn, nil
}

// endingConn is a connection that a context ends, unless it is closed before.
type endingConn struct {
	net.Conn
	keep func() bool // the context ends it no more
}

func (c *endingConn) Close() error {
	c.keep()
	return c.Conn.Close()
}
