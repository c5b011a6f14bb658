package kafkadist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tributary-io/tributary/dev/child"
)

// Broker is one node, broker and controller in one process. Its data stays when
// the process ends.
type Broker struct {
	id               int // from 1 on
	dir, jars, java  string
	addr, controller string // host:port
	side             string // a second address of the broker; empty: none
	advertised       string // what the second address tells clients to dial
	process          *child.Process
}

const (
	readyTimeout = 3 * time.Minute
	stopPatience = 30 * time.Second
	// inSyncTimeout bounds the wait for replicas that catch up.
	inSyncTimeout = 2 * time.Minute
)

// Start formats dir the first time and starts a broker on free ports. Call Stop
// when it is no longer needed; when we end, it is killed.
func Start(ctx context.Context, dir string) (*Broker, error) {
	cluster, err := StartCluster(ctx, ClusterConfig{Dir: dir, Nodes: 1})
	if err != nil {
		return nil, err
	}
	return cluster.Brokers[0], nil
}

// Addr returns the broker's host:port; it stays the same over restarts.
func (b *Broker) Addr() string { return b.addr }

// Pid is the node's process.
func (b *Broker) Pid() int { return b.process.Pid() }

// Data is the directory of the node's log.
func (b *Broker) Data() string { return filepath.Join(b.dir, "data") }

// SideAddr is where a client that was told ClusterConfig.Advertise is heard.
func (b *Broker) SideAddr() string { return b.side }

// configure writes the node's files and formats its storage.
func (b *Broker) configure(ctx context.Context, of clusterSettings) error {
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return fmt.Errorf("kafka directory: %w", err)
	}
	files := map[string]string{"log4j2.properties": logging, "server.properties": b.properties(of)}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("kafka directory: %w", err)
		}
	}
	if _, err := os.Stat(filepath.Join(b.dir, "data", "meta.properties")); err == nil {
		return nil
	}
	// The cluster id may be any: the data directory keeps it.
	cmd := exec.CommandContext(ctx, b.java, b.arguments("kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg",
		"-c", filepath.Join(b.dir, "server.properties"), "--ignore-formatted")...)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kafka: format storage: %w: %s", err, tail(output))
	}
	return nil
}

func (b *Broker) arguments(main string, args ...string) []string {
	return append([]string{"-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true",
		"-Dlog4j2.configurationFile=" + filepath.Join(b.dir, "log4j2.properties"), "-cp", filepath.Join(b.jars, "*"), main}, args...)
}

const logging = `rootLogger.level=WARN
rootLogger.appenderRef.o.ref=O
logger.ready.name=kafka.server.KafkaRaftServer
logger.ready.level=INFO
appender.o.type=Console
appender.o.name=O
appender.o.layout.type=PatternLayout
appender.o.layout.pattern=[%d] %p %m (%c{1})%n
`

func (b *Broker) properties(of clusterSettings) string {
	listeners, advertised, protocols := "PLAINTEXT://"+b.addr, "PLAINTEXT://"+b.addr, "PLAINTEXT:PLAINTEXT"
	if b.side != "" {
		listeners += ",SIDE://" + b.side
		advertised += ",SIDE://" + b.advertised
		protocols += ",SIDE:PLAINTEXT"
	}
	return strings.NewReplacer(
		"$node", strconv.Itoa(b.id), "$voters", of.voters, "$listeners", listeners, "$advertised", advertised, "$protocols", protocols,
		"$control", b.controller, "$data", filepath.Join(b.dir, "data"),
		"$replicas", strconv.Itoa(of.replicas), "$insync", strconv.Itoa(of.inSync),
	).Replace(`process.roles=broker,controller
node.id=$node
controller.quorum.voters=$voters
listeners=$listeners,CONTROLLER://$control
advertised.listeners=$advertised
listener.security.protocol.map=$protocols,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs=$data
auto.create.topics.enable=false
default.replication.factor=$replicas
min.insync.replicas=$insync
offsets.topic.replication.factor=$replicas
offsets.topic.num.partitions=8
transaction.state.log.replication.factor=$replicas
transaction.state.log.min.isr=$insync
transaction.state.log.num.partitions=8
share.coordinator.state.topic.replication.factor=$replicas
share.coordinator.state.topic.min.isr=$insync
share.coordinator.state.topic.num.partitions=4
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
controlled.shutdown.enable=true
`)
}

// Restart starts the broker again after Kill or Stop and returns once it is ready.
func (b *Broker) Restart(ctx context.Context) error {
	if err := b.launch(); err != nil {
		return err
	}
	return b.awaitReady(ctx)
}

func (b *Broker) logPath() string { return filepath.Join(b.dir, "broker.log") }

// launch starts the process. Of several nodes none is ready before most are up.
func (b *Broker) launch() error {
	log, err := os.Create(b.logPath())
	if err != nil {
		return fmt.Errorf("kafka log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(b.java, b.arguments("kafka.Kafka", filepath.Join(b.dir, "server.properties"))...)
	cmd.Stdout, cmd.Stderr = log, log
	if b.process, err = child.Start(cmd, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kafka: %w", err)
	}
	return nil
}

func (b *Broker) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		text, err := os.ReadFile(b.logPath())
		if err != nil {
			return fmt.Errorf("kafka log: %w", err)
		}
		if bytes.Contains(text, []byte("Kafka Server started")) {
			return nil
		}
		select {
		case <-b.process.Done():
			return errors.New("kafka ended at start: " + string(tail(text)))
		case <-ctx.Done():
			b.Kill()
			return fmt.Errorf("kafka was not ready: %w: %s", ctx.Err(), tail(text))
		case <-time.After(25 * time.Millisecond):
		}
	}
}

// Pause stops the broker by SIGSTOP: its connections stay open, and nothing
// answers on them. Continue lets it go on.
func (b *Broker) Pause() error { return b.process.Signal(syscall.SIGSTOP) }

// Continue ends Pause.
func (b *Broker) Continue() error { return b.process.Signal(syscall.SIGCONT) }

// Kill ends the broker by SIGKILL, as a crash would.
func (b *Broker) Kill() {
	if b.process != nil {
		b.process.Stop(stopPatience, syscall.SIGKILL)
	}
}

// Stop shuts the broker down, or kills it if that takes too long.
func (b *Broker) Stop() {
	if b.process != nil {
		b.process.Stop(stopPatience, syscall.SIGTERM, syscall.SIGKILL)
	}
}
