package importer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Events sends a file of events, one a line, to an edge (its origin and
// prefix, as edge_url in dev.json) for a company, by an API key with the scope
// events.import. A line without eventId gets one that is computed from the line.
func Events(ctx context.Context, config Config, edge, companyID, key string) (Summary, error) {
	if companyID == "" {
		return Summary{}, errors.New("no company given")
	}
	if key == "" {
		return Summary{}, errors.New("no API key given")
	}
	target, err := endpoint(edge, "/v1/events")
	if err != nil {
		return Summary{}, fmt.Errorf("edge: %w", err)
	}
	target += "?companyId=" + url.QueryEscape(companyID)
	if config.Concurrency <= 0 {
		config.Concurrency = 4
	}
	p := newPoster(config, target, http.Header{
		"Content-Type": {"application/json"}, "Authorization": {"Bearer " + key},
	})
	return run(ctx, config, plan{poster: p, send: eventSender{p, companyID}.send, workers: config.Concurrency, tellsDuplicates: true})
}

// endpoint appends a path to a base URL.
func endpoint(base, path string) (string, error) {
	u, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("%q is not an http or https URL", base)
	}
	return strings.TrimRight(base, "/") + path, nil
}

type eventSender struct {
	*poster
	companyID string
}

// send rejects two kinds of lines itself: those that are not JSON, since one of
// them would make the whole batch unreadable, and those that could not be
// recognized when they are imported again. It sends the rest to the edge.
func (s eventSender) send(ctx context.Context, lines []line) ([]verdict, error) {
	verdicts := make([]verdict, len(lines))
	var sent []line
	var places []int
	for i, l := range lines {
		if reasons := unreadable(l); reasons != nil {
			verdicts[i].reasons = reasons
			continue
		}
		stamped, reasons := stampEvent(s.companyID, l)
		if reasons != nil {
			verdicts[i].reasons = reasons
			continue
		}
		sent, places = append(sent, line{l.number, stamped}), append(places, i)
	}
	if len(sent) == 0 {
		return verdicts, nil
	}
	answers, err := s.batch(ctx, sent)
	for i, place := range places {
		if err == nil {
			verdicts[place] = answers[i]
		}
	}
	return verdicts, err
}

// unreadable returns why a line cannot be sent at all; nil if it can.
func unreadable(l line) []Reason {
	if l.text == nil {
		return []Reason{{Code: "payload_too_large", Message: fmt.Sprintf("the line is longer than %d bytes", maxLine)}}
	}
	if !json.Valid(l.text) {
		return []Reason{{Code: "invalid_json", Message: "the line is not one JSON value"}}
	}
	return nil
}

// batch sends lines as one array. A batch that is refused as a whole is halved,
// again and again, until the line at fault is alone in its batch.
func (s eventSender) batch(ctx context.Context, lines []line) ([]verdict, error) {
	var body bytes.Buffer
	for i, l := range lines {
		body.WriteByte("[,"[min(i, 1)])
		body.Write(l.text)
	}
	body.WriteByte(']')
	r, err := s.post(ctx, body.Bytes())
	if err != nil {
		return nil, err
	}
	if r.ok() {
		return results(r, len(lines))
	}
	if err := fatal(r, "is --edge the edge's URL, with its prefix and without /v1/events?"); err != nil {
		return nil, err
	}
	if len(lines) == 1 {
		return []verdict{{reasons: refusal(r)}}, nil
	}
	half := len(lines) / 2
	first, err := s.batch(ctx, lines[:half])
	if err != nil {
		return nil, err
	}
	second, err := s.batch(ctx, lines[half:])
	return append(first, second...), err
}

// results reads the edge's answer: one result an event, in order.
func results(r response, n int) ([]verdict, error) {
	var answer struct {
		Results []struct {
			Status, Code, Message string
			Warnings              []Reason
		}
	}
	if err := json.Unmarshal(r.body, &answer); err != nil {
		return nil, fmt.Errorf("the edge's answer: %w", err)
	}
	if len(answer.Results) != n {
		return nil, fmt.Errorf("the edge answered %d results for %d events", len(answer.Results), n)
	}
	verdicts := make([]verdict, n)
	for i, result := range answer.Results {
		switch result.Status {
		case "ok":
			verdicts[i].warnings = result.Warnings[:min(len(result.Warnings), maxWarnings)]
		case "duplicate":
			verdicts[i].duplicate = true
		case "rejected":
			verdicts[i].reasons = []Reason{{Code: result.Code, Message: result.Message}}
		default:
			return nil, fmt.Errorf("the edge answered an unknown status %q", result.Status)
		}
	}
	return verdicts, nil
}
