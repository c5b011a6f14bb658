package reports

// NonConvertingPaths are the visitors who came and did not buy, of the days of a report
// (docs/reports.md, "Non-converting paths"). They have no currency.
type NonConvertingPaths struct {
	Journeys     int64  // whose last touch is in the report's days
	LeftOut      int64  // of these: markov does not see them, since their days have too many different steps
	CountedUntil string // all days until then are counted, YYYY-MM-DD; empty: none is
	FinalUntil   string // all days until then are counted for the last time, likewise
}

func (n *NonConvertingPaths) json() string {
	var o object
	o.field("journeys", n.Journeys)
	o.field("left_out", n.LeftOut)
	o.field("counted_until", orNull(n.CountedUntil))
	o.field("final_until", orNull(n.FinalUntil))
	return o.close()
}
