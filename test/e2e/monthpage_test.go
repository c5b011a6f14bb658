package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/input"
	"github.com/go-rod/rod/lib/proto"

	"github.com/tributary-io/tributary/test/await"
)

// click clicks an element with the mouse. Rod's own click waits for the page's frames,
// which need scripting.
func (m *month) click(selector string) {
	m.t.Helper()
	m.point(m.page.MustElement(selector))
}

func (m *month) point(e *rod.Element) {
	m.t.Helper()
	if err := (proto.DOMScrollIntoViewIfNeeded{ObjectID: e.Object.ObjectID}).Call(m.page); err != nil {
		m.t.Fatal(err)
	}
	shape, err := e.Shape()
	if err != nil || len(shape.Quads) == 0 {
		m.t.Fatalf("%v has no place on the page: %v", e, err)
	}
	m.page.Mouse.MustMoveTo(shape.OnePointInside().X, shape.OnePointInside().Y).MustClick(proto.InputMouseButtonLeft)
}

// fill types into fields of a form, in place of what they have.
func (m *month) fill(values map[string]string) {
	m.t.Helper()
	for name, value := range values {
		m.click("#f-" + name)
		m.page.KeyActions().Press(input.ControlLeft).Type('a').Release(input.ControlLeft).MustDo()
		m.page.MustInsertText(value)
	}
}

// day chooses a day in a field.
func (m *month) day(name string, day time.Time) {
	m.t.Helper()
	m.page.MustElement("#f-"+name).MustEval(`(day) => { this.value = day }`, day.Format(time.DateOnly))
}

// press presses a button that leads to another page.
func (m *month) press(selector string) {
	m.t.Helper()
	loaded := m.page.WaitEvent(&proto.PageLoadEventFired{})
	m.click(selector)
	loaded()
	if alert, err := m.page.Sleeper(rod.NotFoundSleeper).Element("[role=alert]"); err == nil {
		m.t.Fatalf("%s: %s", selector, alert.MustText())
	}
}

func (m *month) open(path string) {
	m.t.Helper()
	loaded := m.page.WaitEvent(&proto.PageLoadEventFired{})
	m.page.MustNavigate(strings.TrimSuffix(m.d.DashboardURL, "/dashboard") + path + "?company=" + m.company)
	loaded()
	m.quiet(path)
}

// quiet fails the test if the browser had to complain.
func (m *month) quiet(at string) {
	m.t.Helper()
	for len(m.complaints) > 0 {
		m.t.Errorf("%s: the browser complains: %s", at, <-m.complaints)
	}
}

// shoot takes a picture of the merchant's page as it is, into $TRIBUTARY_SHOTS where that is
// given, for people to look at.
func (m *month) shoot(name string) {
	m.t.Helper()
	dir := os.Getenv("TRIBUTARY_SHOTS")
	if dir == "" {
		return
	}
	m.shots++
	m.page.MustScreenshotFullPage(filepath.Join(dir, fmt.Sprintf("month-%02d-%s.png", m.shots, name)))
}

// settled waits until what may be paid to the influencer is as it should be.
func (m *month) settled(sum string) {
	m.t.Helper()
	m.until("/dashboard/payouts", "tbody", "Bia Ramos", sum)
}

// until opens a page again until a part of it has some texts.
func (m *month) until(path, part string, texts ...string) {
	m.t.Helper()
	var got string
	await.Until(m.t, await.Long, func() bool {
		m.open(path)
		got = m.text(m.page.MustElement(part))
		for _, text := range texts {
			if !strings.Contains(got, text) {
				return false
			}
		}
		return true
	}, func() string { return fmt.Sprintf("%s has %q, want %q; %s", path, got, texts, m.payouts()) })
}

// text is an element's text with plain spaces.
func (m *month) text(e *rod.Element) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(e.MustText(), "\u00a0", " ")), " ")
}

// set gives a field of a page without scripts a value.
func (m *month) set(selector, value string) {
	m.t.Helper()
	if _, err := (proto.DOMGetDocument{}).Call(m.page); err != nil {
		m.t.Fatal(err)
	}
	node, err := proto.DOMRequestNode{ObjectID: m.page.MustElement(selector).Object.ObjectID}.Call(m.page)
	if err != nil {
		m.t.Fatal(err)
	}
	if err := (proto.DOMSetAttributeValue{NodeID: node.NodeID, Name: "value", Value: value}).Call(m.page); err != nil {
		m.t.Fatal(err)
	}
}

// row checks a row of the statements.
func (m *month) row(n int, texts ...string) {
	m.t.Helper()
	got := m.text(m.page.MustElements("tbody tr")[n])
	for _, text := range texts {
		if !strings.Contains(got, text) {
			m.t.Errorf("the statement reads %q, want %q", got, texts)
		}
	}
}
