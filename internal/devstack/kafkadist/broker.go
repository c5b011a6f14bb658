// Package kafkadist runs a real Apache Kafka (KRaft, one node) on loopback, for
// tests that kill a broker and start it again.
//
// What may enter: downloading its jars with Maven and running it with Java.
package kafkadist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/tributary-io/tributary/internal/devstack/child"
)

// Broker is one node, broker and controller in one process. Its data stays when
// the process ends.
type Broker struct {
	dir, jars, java  string
	addr, controller string // host:port
	process          *child.Process
}

const (
	readyTimeout = 60 * time.Second
	stopPatience = 30 * time.Second
)

// Start formats dir the first time and starts a broker on free ports. Call Stop
// when it is no longer needed; when we end, it is killed.
func Start(ctx context.Context, dir string) (*Broker, error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, fmt.Errorf("java: %w", ErrNoTool)
	}
	jars, err := fetch(ctx)
	if err != nil {
		return nil, err
	}
	b := &Broker{dir: dir, jars: jars, java: java}
	if err := b.choosePorts(); err != nil {
		return nil, fmt.Errorf("kafka: free port: %w", err)
	}
	if err := b.configure(ctx); err != nil {
		return nil, err
	}
	return b, b.Restart(ctx)
}

// Addr returns the broker's host:port; it stays the same over restarts.
func (b *Broker) Addr() string { return b.addr }

func (b *Broker) choosePorts() error {
	for _, addr := range []*string{&b.addr, &b.controller} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer listener.Close() // both are held until both are chosen
		*addr = listener.Addr().String()
	}
	return nil
}

// configure writes the node's files and formats its storage.
func (b *Broker) configure(ctx context.Context) error {
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return fmt.Errorf("kafka directory: %w", err)
	}
	files := map[string]string{"log4j2.properties": logging, "server.properties": b.properties()}
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

func (b *Broker) properties() string {
	return strings.NewReplacer("BROKER", b.addr, "CONTROL", b.controller, "DATA", filepath.Join(b.dir, "data")).Replace(`process.roles=broker,controller
node.id=1
controller.quorum.voters=1@CONTROL
listeners=PLAINTEXT://BROKER,CONTROLLER://CONTROL
advertised.listeners=PLAINTEXT://BROKER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs=DATA
auto.create.topics.enable=false
default.replication.factor=1
min.insync.replicas=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=8
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=8
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=4
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
controlled.shutdown.enable=true
`)
}

// Restart starts the broker again after Kill or Stop and returns once it is ready.
func (b *Broker) Restart(ctx context.Context) error {
	logPath := filepath.Join(b.dir, "broker.log")
	log, err := os.Create(logPath)
	if err != nil {
		return fmt.Errorf("kafka log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(b.java, b.arguments("kafka.Kafka", filepath.Join(b.dir, "server.properties"))...)
	cmd.Stdout, cmd.Stderr = log, log
	b.process, err = child.Start(cmd, syscall.SIGKILL)
	if err != nil {
		return fmt.Errorf("kafka: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		text, err := os.ReadFile(logPath)
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
