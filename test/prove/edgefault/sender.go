package edgefault

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/background"
)

// answer is what the edge said to one request.
type answer struct {
	status     int
	durability string
	results    []result
}

type result struct {
	EventID string `json:"eventId"`
	Status  string `json:"status"`
	Code    string `json:"code"`
}

// sender sends one request; an error says that there was no whole answer.
type sender interface {
	send(ctx context.Context, url string, body []byte) (answer, error)
	close()
}

// answerTimeout is how long a client waits for an answer: longer than the edge's
// own bound of 5 s.
const answerTimeout = 20 * time.Second

// maxAnswer bounds what is read of an answer.
const maxAnswer = 1 << 20

// quick is a client with a connection of its own that it keeps.
type quick struct{ http *http.Client }

func newQuick() quick {
	return quick{&http.Client{Timeout: answerTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: 1}}}
}

func (q quick) close() { q.http.CloseIdleConnections() }

func (q quick) send(ctx context.Context, url string, body []byte) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/events", bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := q.http.Do(request)
	if err != nil {
		return answer{}, err
	}
	return readAnswer(response, response.Body)
}

func readAnswer(response *http.Response, body io.Reader) (answer, error) {
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxAnswer))
	if err != nil {
		return answer{}, err
	}
	var read struct {
		Durability string   `json:"durability"`
		Results    []result `json:"results"`
	}
	if response.StatusCode == http.StatusOK {
		if err := json.Unmarshal(text, &read); err != nil {
			return answer{}, fmt.Errorf("an answer that is no JSON: %w", err)
		}
	}
	return answer{status: response.StatusCode, durability: read.Durability, results: read.Results}, nil
}

// slow is a client on a bad line: its request comes in pieces with pauses between
// them, it reads its answer a few bytes at a time, and each fifth time it hangs
// up before it has the answer.
type slow struct{ random *rand.Rand }

func (slow) close() {}

func (s slow) send(ctx context.Context, url string, body []byte) (answer, error) {
	dialer := net.Dialer{Timeout: answerTimeout}
	host := strings.TrimPrefix(url, "http://")
	conn, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		return answer{}, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(2 * answerTimeout)); err != nil {
		return answer{}, err
	}
	request := fmt.Appendf(nil,
		"POST /v1/events HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", host, len(body))
	request = append(request, body...)
	for pieces := 4 + s.random.IntN(6); len(request) > 0; pieces-- {
		piece := max(1, len(request)/max(1, pieces))
		if _, err := conn.Write(request[:piece]); err != nil {
			return answer{}, err
		}
		request = request[piece:]
		s.wait(ctx, 200*time.Millisecond)
	}
	if s.random.IntN(5) == 0 {
		return answer{}, errHungUp
	}
	reader := bufio.NewReader(drip{conn, func() { s.wait(ctx, 20*time.Millisecond) }})
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		return answer{}, err
	}
	return readAnswer(response, response.Body)
}

var errHungUp = errors.New("the client hung up")

// wait takes a random time of about mean.
func (s slow) wait(ctx context.Context, mean time.Duration) {
	background.Sleep(ctx, time.Duration(s.random.Float64()*2*float64(mean)))
}

// drip reads a few bytes at a time.
type drip struct {
	from io.Reader
	wait func()
}

func (d drip) Read(p []byte) (int, error) {
	d.wait()
	return d.from.Read(p[:min(len(p), 64)])
}
