package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/tributary-io/tributary/internal/background"
)

// connections are kept open; each sends its next request after an answer.
const connections = 64

// load is one kind of request.
type load struct {
	name   string
	events int // of one request
	gzip   bool
	phone  string // of the first shopper; its last digits count up
}

// The store is in Brazil.
const (
	ownPhone     = "+5511900000000"
	foreignPhone = "+4915100000000"
)

var loads = []load{
	{"single", 1, false, ownPhone},
	{"single, foreign phone", 1, false, foreignPhone},
	{"batch of 20", 20, false, ownPhone},
	{"batch of 20, foreign phone", 20, false, foreignPhone},
	{"batch of 20, gzip", 20, true, ownPhone},
}

// The digits of an event that differ from every other's.
const (
	idMark    = "019aa3f0-7c00-7000-8000-000000000000"
	emailMark = "j0000000@"
)

// eventText is an event of 824 bytes with four identities.
func eventText(phone string) string {
	return `{"event":"CHECKOUT_COMPLETED","eventId":"` + idMark +
		`","timestamp":"2026-11-21T03:00:00.000Z","visitorId":"c1-7f0e5b9a44d2e18f",` +
		`"payload":{"items":[{"item_id":"SKU-10023","name":"Merino Crew Sweater","item_quantity":1,"price":89.00},{"item_id":"SKU-20417",` +
		`"name":"Wool Socks 3-pack","item_quantity":2,"price":24.50}],"total":138.00,"currency":"EUR"},` +
		`"identity":{"email":"` + emailMark + `example.com","phone":"` + phone +
		`","customer_id":"cus_5521907","cart_token":"c1-7f0e5b9a44d2e18f"},` +
		`"context":{"page":{"url":"https://shop.example.com/checkout/thank-you?order=100482",` +
		`"referrer":"https://shop.example.com/checkout/payment"},` +
		`"campaign":{"source":"newsletter","medium":"email","name":"autumn_sale_2026","content":"hero"},"userAgent":"Mozilla/5.0 (X11; Linux ` +
		`x86_64) AppleWebKit/537.36","locale":"de-DE"}}`
}

// mark is a place in a body where digits count up.
type mark struct{ at, digits int }

// template is a body and what of it changes with each request: the marks of
// each event, three times len(events).
func (l load) template() (body []byte, marks [][]mark) {
	text := eventText(l.phone)
	if l.events > 1 {
		body = append(body, '[')
	}
	for i := range l.events {
		if i > 0 {
			body = append(body, ',')
		}
		at := len(body)
		body = append(body, text...)
		end := func(part string, after, digits int) mark {
			return mark{at + bytes.Index([]byte(text), []byte(part)) + len(part) - after - digits, digits}
		}
		marks = append(marks, []mark{end(idMark, 0, 12), end(emailMark, 1, 7), end(l.phone, 0, 8)})
	}
	if l.events > 1 {
		body = append(body, ']')
	}
	return body, marks
}

// number writes the last digits of n.
func number(body []byte, m mark, n int64) {
	for i := m.digits - 1; i >= 0; i-- {
		body[m.at+i] = byte('0' + n%10)
		n /= 10
	}
}

// measured is what one run of a load shows.
type measured struct {
	cpu    time.Duration // of the server, an event
	p50    time.Duration // of a request
	p99    time.Duration
	rate   float64 // events a second
	memory int     // bytes, after the load

	user, kernel, switches float64 // instructions and context switches, an event; 0 unless they are counted
}

// phases of a load.
const (
	warming int32 = iota
	measuring
	ended
)

// apply loads a server and reads what that costs it.
func (o options) apply(ctx context.Context, l load, server *process) (measured, error) {
	var phase atomic.Int32
	var group sync.WaitGroup
	clients := make([]client, connections)
	for i := range clients {
		clients[i].load, clients[i].addr = l, server.addr
		group.Go(func() { clients[i].err = clients[i].run(ctx, &phase) })
	}
	time.Sleep(o.warm)
	counting := func() (counters, error) { return counters{}, nil }
	if o.perf {
		counting = server.count(ctx)
	}
	before, err := server.cpu()
	phase.Store(measuring)
	began := time.Now()
	time.Sleep(o.length)
	phase.Store(ended)
	took := time.Since(began)
	after, err2 := server.cpu()
	counted, err4 := counting()
	group.Wait()
	memory, err3 := server.memory()
	var waits []time.Duration
	for i := range clients {
		err = cmp.Or(err, clients[i].err) // one says enough
		waits = append(waits, clients[i].waits...)
	}
	if err := cmp.Or(err, err2, err3, err4); err != nil {
		return measured{}, err
	}
	if len(waits) == 0 {
		return measured{}, errors.New("no request was answered")
	}
	slices.Sort(waits)
	events := len(waits) * l.events
	return measured{
		user: counted.user / float64(events), kernel: counted.kernel / float64(events), switches: counted.switches / float64(events),
		cpu: (after - before) / time.Duration(events), p50: waits[len(waits)/2], p99: waits[len(waits)*99/100],
		rate: float64(events) / took.Seconds(), memory: memory,
	}, nil
}

// awaitReady sends single events until one is taken: the edge reads its
// directory first.
func awaitReady(ctx context.Context, server *process) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		var phase atomic.Int32
		one := client{load: loads[0], addr: server.addr, requests: 1}
		err := one.run(ctx, &phase)
		if err == nil {
			return nil
		}
		if !background.Sleep(ctx, 50*time.Millisecond) {
			return err
		}
	}
}

// next numbers the events of the whole program: every one is another shopper's.
var next atomic.Int64

// client is one connection.
type client struct {
	load     load
	addr     string
	requests int             // how many it sends; 0: until the load has ended
	waits    []time.Duration // of the requests that were measured
	err      error
}

func (c *client) run(ctx context.Context, phase *atomic.Int32) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	reader := bufio.NewReader(conn)
	body, marks := c.load.template()
	header := "POST /v1/events?companyId=" + company + " HTTP/1.1\r\nHost: " + c.addr + "\r\nContent-Type: application/json\r\n"
	if c.load.gzip {
		header += "Content-Encoding: gzip\r\n"
	}
	zipper, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		return err
	}
	var request, zipped bytes.Buffer
	for sent := 0; phase.Load() != ended && (c.requests == 0 || sent < c.requests); sent++ {
		last := next.Add(int64(len(marks)))
		for i, event := range marks {
			for _, m := range event {
				number(body, m, last-int64(i))
			}
		}
		content := body
		if c.load.gzip {
			zipped.Reset()
			zipper.Reset(&zipped)
			if _, err := zipper.Write(body); err != nil {
				return err
			}
			if err := zipper.Close(); err != nil {
				return err
			}
			content = zipped.Bytes()
		}
		request.Reset()
		request.WriteString(header + "Content-Length: " + strconv.Itoa(len(content)) + "\r\n\r\n")
		request.Write(content)
		counts, began := phase.Load() == measuring, time.Now()
		if _, err := conn.Write(request.Bytes()); err != nil {
			return err
		}
		if err := readAnswer(reader); err != nil {
			return err
		}
		if counts {
			c.waits = append(c.waits, time.Since(began))
		}
	}
	return nil
}

// readAnswer reads an answer, which must be 200 or 204 and, of the edge, "ok"
// for each event.
func readAnswer(reader *bufio.Reader) error {
	status, err := reader.ReadString('\n')
	if err != nil {
		return err
	}
	length := 0
	for {
		line, err := reader.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) <= len("\r\n") {
			break
		}
		if name, value, _ := bytes.Cut(line, []byte(":")); bytes.EqualFold(name, []byte("Content-Length")) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
	}
	body := make([]byte, length)
	for read := 0; read < length; {
		n, err := reader.Read(body[read:])
		if err != nil {
			return err
		}
		read += n
	}
	if len(status) < 12 || status[9:11] != "20" || bytes.Contains(body, []byte(`"rejected"`)) || bytes.Contains(body, []byte(`"duplicate"`)) {
		return fmt.Errorf("answered %q %s", status, body)
	}
	return nil
}
