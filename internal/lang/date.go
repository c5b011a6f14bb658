package lang

import (
	"strconv"
	"strings"
	"time"
)

// Date writes a day: "21 Nov 2026", "21/11/2026".
func (p *Printer) Date(t time.Time) string { return p.format("date.short", t) }

// LongDate writes a day with its weekday: "Saturday, 21 November 2026".
func (p *Printer) LongDate(t time.Time) string { return p.format("date.long", t) }

// Time writes a minute of a day: "21 Nov 2026, 15:04".
func (p *Printer) Time(t time.Time) string { return p.Date(t) + ", " + t.Format("15:04") }

// Instant writes a second of a day.
func (p *Printer) Instant(t time.Time) string { return p.Date(t) + ", " + t.Format("15:04:05") }

// Day writes a day that is given as YYYY-MM-DD; another text stays as it is.
func (p *Printer) Day(text string) string {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return text
	}
	return p.Date(day)
}

// Period writes inclusive days, YYYY-MM-DD or empty: "from 1 Nov 2026".
func (p *Printer) Period(start, end string) string {
	from, to := p.Day(start), p.Day(end)
	switch {
	case from == "" && to == "":
		return p.T("date.always")
	case to == "":
		return p.T("date.from", from)
	case from == "":
		return p.T("date.until", to)
	case from == to:
		return p.T("date.on", from)
	}
	return from + "\u00a0– " + to
}

// format replaces, in a text of the catalogue, {d} {dd} by the day of the month,
// {mm} {mmm} {mmmm} by the month, {w} by the weekday and {y} by the year.
func (p *Printer) format(key string, t time.Time) string {
	month := strconv.Itoa(int(t.Month()))
	return strings.NewReplacer(
		"{d}", strconv.Itoa(t.Day()), "{dd}", t.Format("02"), "{mm}", t.Format("01"),
		"{mmm}", p.T("month.short."+month), "{mmmm}", p.T("month."+month),
		"{w}", p.T("weekday."+strconv.Itoa(int(t.Weekday()))), "{y}", t.Format("2006"),
	).Replace(p.T(key))
}
