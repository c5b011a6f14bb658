package devtest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-rod/rod"

	"github.com/tributary-io/tributary/dev/filelock"
)

// axeSource is axe-core's script, at the version that .ci/axe pins.
var axeSource = sync.OnceValues(func() (string, error) {
	_, here, _, _ := runtime.Caller(0)
	home := filepath.Join(filepath.Dir(here), "..", "..", ".ci", "axe")
	script := filepath.Join(home, "node_modules", "axe-core", "axe.min.js")
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	unlock, err := filelock.Wait(ctx, filepath.Join(home, "install.lock")) // several packages are tested at a time
	if err != nil {
		return "", err
	}
	defer unlock()
	if text, err := os.ReadFile(script); err == nil {
		return string(text), nil
	}
	install := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund")
	install.Dir = home
	install.Stderr = os.Stderr
	if err := install.Run(); err != nil {
		return "", err
	}
	text, err := os.ReadFile(script)
	return string(text), err
})

// AxeInEach gives each page that a tab will load axe-core from its beginning. Where Axe looks at many pages of one tab, that takes
// less CPU than to send the script of half a megabyte to each.
func AxeInEach(t testing.TB, tab *rod.Page) {
	t.Helper()
	source, err := axeSource()
	if err != nil {
		t.Fatalf("devtest: axe-core of .ci/axe: %v", err)
	}
	tab.MustEvalOnNewDocument(source)
}

// Axe looks at a page as it is with axe-core: by the rules of WCAG 2.2 A and AA, or
// by the rules that are named. Each violation fails the test; at says where the page is.
func Axe(t testing.TB, page *rod.Page, at string, rules ...string) {
	t.Helper()
	source, err := axeSource()
	if err != nil {
		t.Fatalf("devtest: axe-core of .ci/axe: %v", err)
	}
	if !page.MustEval(`() => typeof axe === 'object'`).Bool() {
		// By the debugger, which a page's content policy does not concern.
		page.MustEval("() => {\n" + source + "\n}")
	}
	got := page.MustEval(`async (rules) => {
		const found = await axe.run(document, {
			runOnly: rules.length ? {type: 'rule', values: rules} : {type: 'tag',
				values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']},
			resultTypes: ['violations'],
		});
		return found.violations.map(v => v.id + ' (' + v.help + '):\n  ' + v.nodes.slice(0,
			5).map(n => n.target.join(' ') + ' ' + n.html.slice(0, 150)
			+ ' ' + n.any.concat(n.all, n.none).map(c => c.message).join('; ')).join('\n  ')).join('\n');
	}`, append([]string{}, rules...)).Str()
	if strings.TrimSpace(got) != "" {
		t.Errorf("%s: axe: %s", at, got)
	}
}
