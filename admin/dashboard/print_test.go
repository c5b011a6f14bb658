package dashboard_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-rod/rod/lib/proto"

	"github.com/tributary-io/tributary/test/devtest"
)

// What is printed on A4 is tables without menus and forms, in a few sheets, and no phone's list of cards.
func TestPagesArePrintedAsTables(t *testing.T) {
	s := newSite(t)
	s.setClock(time.Date(2026, 11, 20, 15, 0, 0, 0, time.UTC))
	s.sumDay("2026-11-19")
	s.sumDay("2026-11-18")
	s.stored("1001")
	page := devtest.Shell(t).MustPage("").Timeout(3 * time.Minute)
	s.enter(page)
	for path, most := range map[string]int{"/dashboard/overview": 3, "/dashboard/influencers": 1} {
		page.MustNavigate(s.url + path + "?company=" + s.live).MustWaitLoad()
		if err := (proto.EmulationSetEmulatedMedia{Media: "print"}).Call(page); err != nil {
			t.Fatal(err)
		}
		page.MustSetViewport(718, 1000, 1, false) // what A4 has between its margins
		got := page.MustEval(`() => ({
			cards: [...document.querySelectorAll('main table tr')].filter(e => getComputedStyle(e).display !== 'table-row').length,
			rows: document.querySelectorAll('main table tr').length,
			shown: [...document.querySelectorAll('nav, main form, main button')].filter(e => e.checkVisibility()).map(e => e.outerHTML.slice(0, 120))
		})`)
		if got.Get("cards").Int() != 0 || got.Get("rows").Int() == 0 || len(got.Get("shown").Arr()) != 0 {
			t.Errorf("%s on paper: %s", path, got.JSON("", ""))
		}
		if dir := os.Getenv("TRIBUTARY_SHOTS"); dir != "" {
			page.MustScreenshotFullPage(filepath.Join(dir, "print-"+filepath.Base(path)+".png"))
		}
		stream, err := page.PDF(&proto.PagePrintToPDF{PaperWidth: new(8.27), PaperHeight: new(11.69)})
		if err != nil {
			t.Fatal(err)
		}
		pdf, err := io.ReadAll(stream)
		if err != nil {
			t.Fatal(err)
		}
		if sheets := bytes.Count(pdf, []byte("/Type /Page\n")); sheets < 1 || sheets > most {
			t.Errorf("%s is printed on %d sheets, want at most %d", path, sheets, most)
		}
	}
}
