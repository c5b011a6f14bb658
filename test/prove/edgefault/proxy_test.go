package edgefault

import (
	"bufio"
	"io"
	"net"
	"testing"
	"time"

	"github.com/tributary-io/tributary/test/await"
)

// echo answers each line with itself.
func echo(t *testing.T) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn); conn.Close() }()
		}
	}()
	return listener.Addr().String()
}

func TestAProxyHoldsBytesUntilItIsOpen(t *testing.T) {
	p, err := NewProxy()
	if err != nil {
		t.Fatal(err)
	}
	p.Serve(t.Context(), echo(t))
	defer p.Close()
	dial := func() (net.Conn, *bufio.Reader) {
		t.Helper()
		conn, err := net.Dial("tcp", p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if err := conn.SetDeadline(time.Now().Add(await.Long)); err != nil {
			t.Fatal(err)
		}
		return conn, bufio.NewReader(conn)
	}
	say := func(conn net.Conn, line string) {
		t.Helper()
		if _, err := conn.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	hear := func(reader *bufio.Reader, want string) {
		t.Helper()
		if got, err := reader.ReadString('\n'); err != nil || got != want {
			t.Fatalf("%q, %v; want %q", got, err, want)
		}
	}
	first, answers := dial()
	say(first, "a\n")
	hear(answers, "a\n")
	for name, way := range map[string]*Gate{"up": &p.Up, "down": &p.Down} {
		before := way.held.Load()
		way.Shut()
		say(first, name+"\n")
		await.Until(t, await.Long, func() bool { return way.held.Load() > before }, func() string { return "the bytes wait " + name })
		if answers.Buffered() > 0 {
			t.Errorf("%s: an answer came through", name)
		}
		way.Release()
		hear(answers, name+"\n") // late, and whole
	}
	p.Down.Shut()
	say(first, "lost\n")
	await.Until(t, await.Long, func() bool { return p.Down.held.Load() > 1 }, func() string { return "the answer waits" })
	p.Sever()
	p.Down.Release()
	if line, err := answers.ReadString('\n'); err == nil {
		t.Errorf("a severed connection says %q", line)
	}
	p.Lead(greet(t, "another\n"))
	_, answers = dial()
	hear(answers, "another\n")
	const late = 50 * time.Millisecond
	p.Lead(echo(t))
	p.Up.Slow(late)
	second, answers := dial()
	began := time.Now()
	say(second, "b\n")
	hear(answers, "b\n")
	if took := time.Since(began); took < late {
		t.Errorf("the answer came after %v, want %v and more", took, late)
	}
}

// greet says a line to each who comes.
func greet(t *testing.T, line string) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, line)
			conn.Close()
		}
	}()
	return listener.Addr().String()
}
