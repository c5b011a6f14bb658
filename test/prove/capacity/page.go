package capacity

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// head is the first line of both tables, and what divides it from the others.
const head = " | edge | admin | processor | PostgreSQL | Kafka | log | tables | WAL |\n|---|---|---|---|---|---|---|---|---|\n"

// Tables are the tables of docs/capacity.md: what one of each thing costs, in milliseconds of CPU and bytes, and what a day of some stores
// does, in seconds and megabytes. After them are two sentences with numbers.
func Tables() []string {
	var one, day strings.Builder
	one.WriteString("|" + head)
	for _, u := range units {
		fmt.Fprintf(&one, "| %s |%s\n", u.name, cells(coefficients().one(u), 1e3, 1))
	}
	day.WriteString("| visits, orders" + head)
	for _, visits := range []float64{1_000, 50_000, 500_000} {
		fmt.Fprintf(&day, "| %s, %s |%s\n", number(visits), number(visits/buys), cells(Predict(Shop(visits), Reference), 1, 1e-6))
	}
	c := Predict(Shop(50_000), Reference)
	return []string{one.String(), day.String(),
		fmt.Sprintf("Memory: edge %s MB, admin %s, processor %s", two(c.EdgeMemory/1e6), two(c.AdminMemory/1e6), two(c.ProcessorMemory/1e6)),
		fmt.Sprintf("50,000 visits take %s %% of a core of PostgreSQL, which has 86,400 seconds", two(100*c.PostgresCPU/86_400))}
}

// cells are costs in a table.
func cells(c Costs, seconds, bytes float64) string {
	var b strings.Builder
	for _, x := range []float64{c.EdgeCPU * seconds, c.AdminCPU * seconds, c.ProcessorCPU * seconds, c.PostgresCPU * seconds,
		c.KafkaCPU * seconds, c.Log * bytes, c.Tables * bytes, c.WAL * bytes} {
		b.WriteString(" " + two(x) + " |")
	}
	return b.String()
}

// buys is how many visits of a shop there are for each order.
const buys = 50

// Shop is a day of one store: a visit in fifty buys, one in ten comes by a short link, and a visit has ten events of 600 bytes in four
// requests.
func Shop(visits float64) Traffic {
	return Traffic{Seconds: (24 * time.Hour).Seconds(), Stores: 1, Visits: visits, Requests: 4 * visits, Events: 10 * visits,
		EventBytes: 6000 * visits, Orders: visits / buys, Clicks: visits / 10}
}

// two is a number rounded to two digits that count; nothing for zero.
func two(x float64) string {
	if x == 0 {
		return ""
	}
	unit := math.Pow(10, math.Floor(math.Log10(x))-1)
	if unit >= 1 {
		return number(math.Round(x/unit) * unit)
	}
	text := fmt.Sprintf("%.*f", int(-math.Round(math.Log10(unit))), x)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}

// number writes thousands apart.
func number(x float64) string {
	text := fmt.Sprintf("%.0f", x)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
