package report

import (
	"cmp"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/lang"
)

// journey is the channels by which orders came, in their order.
type journey struct {
	Steps  []string // words; empty: they are not known one by one
	Orders int64
}

// sankey is journeys as the template "sankey" draws them: an SVG, and a table with the
// same numbers behind it (docs/adr/0012). Each column is a step before the order, the
// last one is the orders.
type sankey struct {
	Class         string // by the width of the screen that it is for
	Width, Height int    // of the SVG's own units
	Nodes         []sankeyNode
	Flows         []sankeyFlow
}

type sankeyNode struct {
	X, Y, W, H     string
	TextX, TextY   string
	Label, Title   string
	Class          string // its colour
	column, place  int    // place: in its column
	key            string
	orders         int64
	y, h, out, inn float64
}

type sankeyFlow struct {
	D, Class         string
	From, To         string
	Step             int // before the order: 1 is the last
	Orders, Part     string
	column, from, to int // indexes of nodes
	orders           int64
}

// Sizes of a Sankey in the SVG's units, which are pixels where there is room for it.
const (
	sankeyHeight = 240 // of all orders together
	sankeyBar    = 12
	sankeyGap    = 20 // between two nodes of a column: their labels need it
	sankeyTop    = 8
	// sankeyColours is how many channels have a colour of their own, those with the most
	// orders. The others are one node in each column.
	sankeyColours = 7
)

// Keys of nodes that are no channel: no channel has these names.
const (
	nodeOrders  = "\x00orders"
	nodeEarlier = "\x00earlier"
	nodeOther   = "\x00other"
	nodeUnknown = "\x00unknown"
)

// sankeyShape is a Sankey for a width of screen.
type sankeyShape struct {
	class         string
	width, margin int // margin: for the labels of the last column
	columns       int // at most, with that of the orders
	label         int // characters of a label
}

var sankeyShapes = []sankeyShape{
	{"wide", 1000, 150, 5, 24},
	{"narrow", 350, 78, 3, 11},
}

// newSankeys draws journeys for each width of screen; nil where there is nothing to draw.
func newSankeys(l *lang.Printer, journeys []journey) (list []*sankey) {
	var all int64
	longest := 1
	for _, j := range journeys {
		if j.Orders > 0 {
			all, longest = all+j.Orders, max(longest, len(j.Steps))
		}
	}
	if all == 0 {
		return nil
	}
	colours := coloursOf(journeys)
	for _, shape := range sankeyShapes {
		shape.columns = min(shape.columns, longest+1) // no column is empty
		d := sankeyDrawing{l: l, shape: shape, colours: colours, all: all, sankey: &sankey{Class: shape.class, Width: shape.width}}
		for _, j := range journeys {
			d.add(j)
		}
		d.place()
		d.flow()
		list = append(list, d.sankey)
	}
	return list
}

// coloursOf gives the channels with the most orders a colour each.
func coloursOf(journeys []journey) map[string]string {
	orders := map[string]int64{}
	for _, j := range journeys {
		for _, step := range j.Steps {
			orders[step] += j.Orders
		}
	}
	names := make([]string, 0, len(orders))
	for name := range orders {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(orders[b], orders[a]), cmp.Compare(a, b)) })
	colours := map[string]string{}
	for i, name := range names[:min(len(names), sankeyColours)] {
		colours[name] = "s" + strconv.Itoa(i+1)
	}
	return colours
}

// sankeyDrawing is a Sankey while it is drawn.
type sankeyDrawing struct {
	*sankey
	l       *lang.Printer
	shape   sankeyShape
	colours map[string]string
	all     int64
}

// add adds a journey to the nodes and flows.
func (d *sankeyDrawing) add(j journey) {
	if j.Orders <= 0 {
		return
	}
	room, keys := d.shape.columns-1, []string{nodeUnknown}
	if len(j.Steps) > 0 {
		keys = keys[:0]
	}
	for i, step := range j.Steps {
		key := step
		if d.colours[step] == "" {
			key = nodeOther
		}
		if len(j.Steps) > room && i < len(j.Steps)-room+1 {
			if i > 0 {
				continue
			}
			key = nodeEarlier
		}
		keys = append(keys, key)
	}
	column, before := d.shape.columns-1-len(keys), -1
	for _, key := range append(keys, nodeOrders) {
		at := d.node(column, key)
		d.Nodes[at].orders += j.Orders
		if before >= 0 {
			i := slices.IndexFunc(d.Flows, func(f sankeyFlow) bool { return f.from == before && f.to == at })
			if i < 0 {
				i, d.Flows = len(d.Flows), append(d.Flows, sankeyFlow{column: column, from: before, to: at})
			}
			d.Flows[i].orders += j.Orders
		}
		before, column = at, column+1
	}
}

func (d *sankeyDrawing) node(column int, key string) int {
	i := slices.IndexFunc(d.Nodes, func(n sankeyNode) bool { return n.column == column && n.key == key })
	if i < 0 {
		i, d.Nodes = len(d.Nodes), append(d.Nodes, sankeyNode{column: column, key: key})
	}
	return i
}

// place puts the nodes of each column below each other, those with the most orders first,
// and the columns in the middle.
func (d *sankeyDrawing) place() {
	heights := make([]float64, d.shape.columns)
	for column := range heights {
		for place, i := range d.column(column) {
			n := &d.Nodes[i]
			if place > 0 {
				heights[column] += sankeyGap
			}
			n.place, n.y = place, heights[column]
			n.h = max(1, float64(n.orders)*sankeyHeight/float64(d.all))
			heights[column] += n.h
		}
	}
	tallest := slices.Max(heights)
	d.Height = int(tallest) + 2*sankeyTop + 1
	step := float64(d.shape.width-d.shape.margin-sankeyBar) / float64(d.shape.columns-1)
	for i := range d.Nodes {
		n := &d.Nodes[i]
		n.y += sankeyTop + (tallest-heights[n.column])/2
		x := float64(n.column) * step
		label := d.words(n.key)
		n.Title = label + ": " + d.l.N("sales.n_orders", n.orders)
		n.Label, n.Class = shortened(label, d.shape.label)+" "+d.l.Count(n.orders), d.colour(n.key)
		n.X, n.Y, n.W, n.H = coordinate(x), coordinate(n.y), coordinate(sankeyBar), coordinate(n.h)
		n.TextX, n.TextY = coordinate(x+sankeyBar+5), coordinate(n.y+n.h/2+4)
	}
}

// column returns the nodes of a column: the channels with the most orders first, then
// what is no channel.
func (d *sankeyDrawing) column(column int) (list []int) {
	for i := range d.Nodes {
		if d.Nodes[i].column == column {
			list = append(list, i)
		}
	}
	rank := func(n *sankeyNode) int {
		return slices.Index([]string{nodeOther, nodeEarlier, nodeUnknown}, n.key)
	}
	slices.SortFunc(list, func(a, b int) int {
		x, y := &d.Nodes[a], &d.Nodes[b]
		return cmp.Or(cmp.Compare(rank(x), rank(y)), cmp.Compare(y.orders, x.orders), cmp.Compare(x.key, y.key))
	})
	return list
}

// flow draws the flows between the nodes, in the order of their ends, so that few cross.
func (d *sankeyDrawing) flow() {
	slices.SortFunc(d.Flows, func(a, b sankeyFlow) int {
		return cmp.Or(cmp.Compare(a.column, b.column), cmp.Compare(d.Nodes[a.from].place, d.Nodes[b.from].place),
			cmp.Compare(d.Nodes[a.to].place, d.Nodes[b.to].place))
	})
	step := float64(d.shape.width-d.shape.margin-sankeyBar) / float64(d.shape.columns-1)
	for i := range d.Flows {
		f := &d.Flows[i]
		from, to := &d.Nodes[f.from], &d.Nodes[f.to]
		h := float64(f.orders) * sankeyHeight / float64(d.all)
		x0, x1 := float64(from.column)*step+sankeyBar, float64(to.column)*step
		y0, y1, middle := from.y+from.out, to.y+to.inn, (x0+x1)/2
		from.out, to.inn = from.out+h, to.inn+h
		f.D = "M" + points(x0, y0) + "C" + points(middle, y0, middle, y1, x1, y1) + "V" + coordinate(y1+h) +
			"C" + points(middle, y1+h, middle, y0+h, x0, y0+h) + "Z"
		f.Class, f.From, f.To, f.Step = from.Class, d.words(from.key), d.words(to.key), d.shape.columns-1-from.column
		f.Orders = d.l.Count(f.orders)
		f.Part = d.l.Share(decimal.NewFromInt(f.orders), decimal.NewFromInt(d.all))
	}
}

func (d *sankeyDrawing) words(key string) string {
	switch key {
	case nodeOrders:
		return d.l.T("paths.to_orders")
	case nodeEarlier:
		return d.l.T("paths.earlier")
	case nodeOther:
		return d.l.T("paths.other")
	case nodeUnknown:
		return d.l.T("paths.others")
	}
	return key
}

func (d *sankeyDrawing) colour(key string) string {
	switch key {
	case nodeOrders:
		return "orders-node"
	case nodeEarlier, nodeOther, nodeUnknown:
		return "s0"
	}
	return d.colours[key]
}

// shortened cuts a text to so many characters.
func shortened(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

func coordinate(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }

func points(list ...float64) string {
	text := ""
	for i, x := range list {
		if i > 0 {
			text += " "
		}
		text += coordinate(x)
	}
	return text
}
