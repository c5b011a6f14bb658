package fraud

import (
	"strconv"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/reports"
)

// CSV returns the signs as a table with a header (RFC 4180): a row for each sign and
// currency of its cost.
func (r *Report) CSV() []byte {
	header := []string{"kind", "influencer", "influencer_id", "code", "since", "observed_count", "observed_of", "usual_count", "usual_of",
		"orders", "currency", "commission", "turnover"}
	var lines [][]string
	for _, s := range r.Signs {
		line := []string{
			string(s.Kind), reports.CSVText(r.Names[s.Influencer]), s.Influencer, reports.CSVText(s.Code), s.Since,
			strconv.Itoa(s.Observed.Count), strconv.Itoa(s.Observed.Of), strconv.Itoa(s.Usual.Count), strconv.Itoa(s.Usual.Of),
			strconv.Itoa(s.Total),
		}
		list := s.Costs
		if len(list) == 0 {
			lines = append(lines, append(line, "", "", ""))
		}
		for _, c := range list {
			lines = append(lines,
				append(line[:len(line):len(line)], c.Currency, commerce.FormatMinor(c.Commission, c.Currency),
					commerce.FormatMinor(c.Turnover, c.Currency)))
		}
	}
	return reports.WriteCSV(header, lines)
}
