package importer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
)

// Orders sends a file of orders, one a line, to the admin API (its base URL
// with /admin/v1, as admin_url in dev.json). Versions of one order are sent in
// the file's order; one without updatedAt gets its createdAt as updatedAt.
func Orders(ctx context.Context, config Config, admin, key string) (Summary, error) {
	if key == "" {
		return Summary{}, errors.New("no API key given")
	}
	target, err := endpoint(admin, "/order")
	if err != nil {
		return Summary{}, fmt.Errorf("admin: %w", err)
	}
	if config.Concurrency <= 0 {
		config.Concurrency = 8
	}
	p := newPoster(config, target, http.Header{
		"Content-Type": {"application/json"}, "Authorization": {"Bearer " + key},
	})
	sender := orderSender{p}
	return run(ctx, config, plan{
		target: target, maxLines: 1, maxBytes: maxLine, lane: laneOfOrder,
		send: sender.send, workers: config.Concurrency, perWorker: 8, retries: p.retries.Load,
	})
}

// laneOfOrder returns the same lane for all versions of an order, so that they
// are sent in the file's order. An id that is a number is the same as its text. A line
// without a readable orderId may go to any lane: the service refuses it.
func laneOfOrder(l line) int {
	var order struct {
		OrderID json.RawMessage `json:"orderId"`
	}
	_ = json.Unmarshal(l.text, &order)
	id := string(order.OrderID)
	_ = json.Unmarshal(order.OrderID, &id) // a number stays its digits
	hash := fnv.New32a()
	hash.Write([]byte(id))
	return int(hash.Sum32() & 0x7fffffff)
}

type orderSender struct{ *poster }

func (s orderSender) send(ctx context.Context, lines []line) ([]verdict, error) {
	if reasons := unreadable(lines[0]); reasons != nil {
		return []verdict{{reasons: reasons}}, nil
	}
	r, err := s.post(ctx, stampOrder(lines[0].text))
	if err != nil {
		return nil, err
	}
	if r.ok() {
		return []verdict{{warnings: warningsIn(r)}}, nil
	}
	if err := fatal(r, "does --admin end in /admin/v1?"); err != nil {
		return nil, err
	}
	return []verdict{{reasons: refusal(r)}}, nil
}
