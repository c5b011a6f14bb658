package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"
)

// attack is a request that a stranger sends again and again.
type attack struct {
	name    string
	request string // as it is written to the connection, with numbers where it has changing
	bytes   int    // of it, with its body inflated as far as the edge may
	status  int    // of the answer
}

// A hostile request may cost what an honest one costs and, for each of its inflated
// bytes, perByte times what a byte of an honest one costs.
const perByte = 5

// cost is what one attack costs the edge's process.
type cost struct {
	attack
	honest time.Duration   // CPU of an honest request in the same run
	runs   []time.Duration // CPU of a request
}

// allowed is the line that the attack's cost must stay under.
func (c *cost) allowed() time.Duration {
	return c.honest + c.honest*time.Duration(perByte*c.bytes)/time.Duration(honestBytes)
}

// measureAttacks starts an edge and measures an honest request and each attack.
func (o options) measureAttacks(ctx context.Context, costs map[string]*cost) (failed error) {
	broker, err := o.start(ctx, roleBroker, "")
	if err != nil {
		return err
	}
	defer broker.stop()
	server, err := o.start(ctx, roleEdge, broker.addr)
	if err != nil {
		return err
	}
	defer server.stop()
	if err := awaitReady(ctx, server); err != nil {
		return err
	}
	honest, err := o.apply(ctx, loads[0], server)
	if err != nil {
		return err
	}
	for _, a := range attacks() {
		if !strings.Contains(a.name, o.load) {
			continue
		}
		cpu, err := o.attack(ctx, a, server)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", a.name, err))
			continue
		}
		if costs[a.name] == nil {
			costs[a.name] = &cost{attack: a, honest: honest.cpu}
		}
		costs[a.name].runs = append(costs[a.name].runs, cpu)
	}
	return failed
}

// attack sends an attack's request by many connections and returns the CPU time
// that one costs the server.
func (o options) attack(ctx context.Context, a attack, server *process) (time.Duration, error) {
	var phase atomic.Int32
	var answered atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, connections)
	for i := range errs {
		group.Go(func() { errs[i] = a.send(ctx, server.addr, &phase, &answered) })
	}
	time.Sleep(o.warm / 2)
	before, err := server.cpu()
	phase.Store(measuring)
	time.Sleep(o.length)
	n := answered.Load()
	phase.Store(ended)
	after, err2 := server.cpu()
	group.Wait()
	if err := cmp.Or(err, err2, cmp.Or(errs...)); err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, fmt.Errorf("no request was answered within %v", o.length)
	}
	return (after - before) / time.Duration(n), nil
}

// send sends the request by one connection at a time until the phase has ended.
func (a attack) send(ctx context.Context, addr string, phase *atomic.Int32, answered *atomic.Int64) error {
	var conn net.Conn
	var reader *bufio.Reader
	request := []byte(a.request)
	defer func() {
		if conn != nil {
			_ = conn.Close()
		}
	}()
	for phase.Load() != ended {
		if conn == nil {
			var err error
			if conn, err = new(net.Dialer).DialContext(ctx, "tcp", addr); err != nil {
				return err
			}
			reader = bufio.NewReader(conn)
		}
		n := next.Add(1)
		for rest := a.request; ; {
			i := strings.LastIndex(rest, changing)
			if i < 0 {
				break
			}
			number(request, mark{i, len(changing)}, n)
			rest = rest[:i]
		}
		if _, err := conn.Write(request); err != nil {
			return err
		}
		response, err := http.ReadResponse(reader, nil) //nolint:bodyclose // read to its end; the connection is used again
		if err != nil {
			return err
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		if response.StatusCode != a.status {
			return fmt.Errorf("answered %d, not %d: %.200s", response.StatusCode, a.status, body)
		}
		if phase.Load() == measuring {
			answered.Add(1)
		}
		if response.Close {
			_ = conn.Close()
			conn = nil
		}
	}
	return nil
}

// printAttacks writes the medians, in the attacks' order.
func printAttacks(to io.Writer, costs map[string]*cost) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "attack\tinflated bytes\tanswer\tCPU µs a request\tallowed\t÷ allowed\tns a byte\t")
	for _, a := range attacks() {
		c := costs[a.name]
		if c == nil {
			continue
		}
		slices.Sort(c.runs)
		cpu := c.runs[len(c.runs)/2]
		fmt.Fprintf(w, "%s\t%d\t%d\t%.1f\t%.1f\t%.2f\t%.1f\t\n", a.name, a.bytes, a.status, micro(cpu), micro(c.allowed()),
			float64(cpu)/float64(c.allowed()), float64(cpu)/float64(a.bytes))
	}
	_ = w.Flush()
}

// honestBytes are the bytes of an honest request.
var honestBytes = len(post("", eventText(ownPhone)))

// post is a request of POST /v1/events; headers end with a line break.
func post(headers, body string) string {
	return "POST /v1/events?companyId=" + company + " HTTP/1.1\r\nHost: edge.example.com\r\nContent-Type: application/json\r\n" + headers +
		fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body)) + body
}

// packed is a body in an encoding, and its header.
func packed(encoding, body string) (header, out string) {
	var buffer bytes.Buffer
	w := newPacker(encoding, &buffer)
	if _, err := io.WriteString(w, body); err != nil {
		panic(err) // into memory
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return "Content-Encoding: " + encoding + "\r\n", buffer.String()
}
