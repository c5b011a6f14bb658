package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// panels returns the queries of the dashboard's panels, with the range that Grafana would give.
func panels() (list []string, err error) {
	body, err := os.ReadFile(filepath.Join("deploy", "grafana", "tributary.json")) // make runs at the root
	if err != nil {
		return nil, err
	}
	var board struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(body, &board); err != nil {
		return nil, fmt.Errorf("the dashboard: %w", err)
	}
	const fourScrapes = "20s" // as Grafana computes it
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			list = append(list, strings.ReplaceAll(target.Expr, "$__rate_interval", fourScrapes))
		}
	}
	return list, nil
}

var (
	selectors = regexp.MustCompile(`\b(tributary_\w+|up)\b({[^}]*})?`)
	patterns  = regexp.MustCompile(`=~"[^"]*"`)
)

// selected are what the rule of an alert reads. A rule that holds returns nothing, so it is not asked whole; a pattern of a label's
// values, as 5.., may match none yet, so the label itself is asked for.
func (r rule) selected() (list []string) {
	for _, one := range selectors.FindAllString(r.Query, -1) {
		list = append(list, patterns.ReplaceAllString(one, `!=""`))
	}
	return list
}

// judgeQueries asks whether each query of the dashboard, and each series that an alert reads, had data in this run.
func (s *stand) judgeQueries(ctx context.Context) error {
	if s.prom == nil {
		return nil
	}
	queries, err := panels()
	if err != nil {
		return err
	}
	rules, err := s.prom.rules(ctx)
	if err != nil {
		return err
	}
	for _, one := range rules {
		queries = append(queries, one.selected()...)
	}
	slices.Sort(queries)
	queries = slices.Compact(queries)
	const fewest = 60
	if len(queries) < fewest {
		s.wrong("the dashboard and the alerts have %d queries only", len(queries))
	}
	for _, query := range queries {
		some, err := s.prom.hadData(ctx, query, s.began)
		if err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
		if !some {
			s.wrong("no data: %s", query)
		}
	}
	return nil
}

// hadData tells whether a query returned anything at any time since then.
func (p *prometheus) hadData(ctx context.Context, query string, since time.Time) (bool, error) {
	body, err := p.since(ctx, query, since)
	if err != nil {
		return false, err
	}
	var answer struct {
		Data struct{ Result []json.RawMessage }
	}
	err = json.Unmarshal(body, &answer)
	return len(answer.Data.Result) > 0, err
}
