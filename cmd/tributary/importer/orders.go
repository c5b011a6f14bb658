package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Orders sends a file of orders, one a line, to the admin API (its base URL
// with /admin/v1, as admin_url in dev.json), many in a request. They are sent in
// the file's order; one without updatedAt gets its createdAt as updatedAt.
func Orders(ctx context.Context, config Config, admin, key string) (Summary, error) {
	if key == "" {
		return Summary{}, errors.New("no API key given")
	}
	target, err := endpoint(admin, "/orders")
	if err != nil {
		return Summary{}, fmt.Errorf("admin: %w", err)
	}
	p := newPoster(config, target, http.Header{
		"Content-Type": {"application/x-ndjson"}, "Authorization": {"Bearer " + key},
	})
	return run(ctx, config, plan{poster: p, send: orderSender{p}.send, workers: 1}) // one: the versions of an order keep their order
}

type orderSender struct{ *poster }

// send rejects lines that are not JSON itself, and sends the rest to the admin API.
func (s orderSender) send(ctx context.Context, lines []line) ([]verdict, error) {
	verdicts := make([]verdict, len(lines))
	var body bytes.Buffer
	var places []int
	for i, l := range lines {
		if verdicts[i].reasons = unreadable(l); verdicts[i].reasons == nil {
			body.Write(append(stampOrder(l.text), '\n'))
			places = append(places, i)
		}
	}
	if len(places) == 0 {
		return verdicts, nil
	}
	r, err := s.post(ctx, body.Bytes())
	if err != nil {
		return nil, err
	}
	if err := fatal(r, "does --admin end in /admin/v1?"); err != nil {
		return nil, err
	}
	if !r.ok() {
		return nil, fmt.Errorf("%w: %d%s", ErrRefused, r.status, messageIn(r.body))
	}
	return verdicts, orderResults(r, verdicts, places)
}

// orderResults reads the answer: one result a line that was sent, in order.
func orderResults(r response, verdicts []verdict, places []int) error {
	var answer struct {
		Data struct {
			Results []struct {
				Status   int
				Warnings []Reason
				Error    json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(r.body, &answer); err != nil {
		return fmt.Errorf("the admin API's answer: %w", err)
	}
	results := answer.Data.Results
	if len(results) != len(places) {
		return fmt.Errorf("the admin API answered %d results for %d orders", len(results), len(places))
	}
	for i, result := range results {
		if result.Status == http.StatusOK {
			verdicts[places[i]].warnings = result.Warnings[:min(len(result.Warnings), maxWarnings)]
			continue
		}
		refused := response{status: result.Status, body: fmt.Appendf(nil, `{"error":%s}`, result.Error)}
		verdicts[places[i]].reasons = refusal(refused)
	}
	return nil
}
