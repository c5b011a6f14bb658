//go:build browsers

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-rod/rod"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/webdriver"
)

// visitor is a browser's tab: open goes to an address, eval returns the text that a function promises.
type visitor struct {
	open func(url string) error
	eval func(function string) (string, error)
}

func inChromium(browser *rod.Browser) visitor {
	page := browser.MustIncognito().MustPage("").Timeout(2 * time.Minute)
	return visitor{page.Navigate, func(function string) (string, error) {
		got, err := page.Eval(function)
		if err != nil {
			return "", err
		}
		return got.Value.Str(), nil
	}}
}

func inFirefox(t *testing.T) visitor {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	browser, err := webdriver.Firefox(ctx, t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := browser.Close(); err != nil {
			t.Error(err)
		}
	})
	tab, err := browser.Tab(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return visitor{
		func(url string) error { return tab.Navigate(ctx, url) },
		func(function string) (text string, err error) {
			err = tab.Eval(ctx, &text, function)
			return text, err
		},
	}
}

// framework is how a shop of testdata/web is built.
type framework struct {
	name, out, prefix string
}

// buildShop copies a shop, installs what it pins and our package, and builds it.
func buildShop(t *testing.T, f framework, d *dev) (files string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "testdata", "web", f.name))); err != nil {
		t.Fatal(err)
	}
	run := func(dir, name string, args ...string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), name, args...)
		command.Dir = dir
		command.Env = append(os.Environ(), "NEXT_TELEMETRY_DISABLED=1", f.prefix+"_EDGE="+d.EdgeURL, f.prefix+"_COMPANY="+d.CompanyID)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, tail(string(out), 4000))
		}
	}
	run(dir, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	run(filepath.Join("..", ".."), "go", "run", "./sdk-js/build", "-quick", "-out", filepath.Join(t.TempDir(), "dist"), "-npm",
		filepath.Join(dir, "node_modules", "@tributary-io"))
	run(dir, "npm", "run", "build")
	return filepath.Join(dir, f.out)
}

// backend is the shop's server: the built files, and orders, which it sends to the admin API.
func backend(t *testing.T, d *dev, files string) *httptest.Server {
	var orders atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		var placed struct{ CartToken, UserID string }
		if err := json.NewDecoder(io.LimitReader(r.Body, 1<<16)).Decode(&placed); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		o := order(fmt.Sprintf("web-%d-%d", time.Now().UnixNano(), orders.Add(1)), "100.00", "")
		o["cartToken"], o["userId"] = placed.CartToken, placed.UserID
		got, err := call(r.Context(), http.MethodPost, d.AdminURL+"/order", d.APIKey, o)
		if err != nil || got.status != http.StatusOK {
			http.Error(w, fmt.Sprintf("%v %s", err, got.body), http.StatusBadGateway)
			return
		}
		_, _ = io.WriteString(w, o["orderId"].(string))
	})
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		at := filepath.Join(files, filepath.FromSlash(r.URL.Path))
		if info, err := os.Stat(at); err == nil && (!info.IsDir() || exists(filepath.Join(at, "index.html"))) {
			http.FileServer(http.Dir(files)).ServeHTTP(w, r)
			return
		}
		http.ServeFile(w, r, filepath.Join(files, "index.html")) // the script knows the address
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestFrameworks buys through a shop of each framework, in Chromium and in Firefox: the short link,
// a product, the cart, the checkout, the order. Who brought it is paid.
func TestFrameworks(t *testing.T) {
	d := startDev(t, dataDir(t), "--empty")
	chromium := devtest.Browser(t)
	browsers := map[string]func() visitor{
		"Chromium": func() visitor { return inChromium(chromium) },
		"Firefox":  func() visitor { return inFirefox(t) },
	}
	for _, f := range []framework{{"vite-react", "dist", "VITE"}, {"vite-vue", "dist", "VITE"}, {"next", "out", "NEXT_PUBLIC"}} {
		files := buildShop(t, f, d)
		for name, open := range browsers {
			t.Run(f.name+" in "+name, func(t *testing.T) {
				shop := backend(t, d, files)
				if out, status := runToEnd(t, "company", "set", d.CompanyID, "--origin", shop.URL, "--origin", d.StorefrontURL, "--postgres",
					d.Postgres); status != 0 {
					t.Fatalf("allow the shop's origin: %s", out)
				}
				buyThrough(t, d, shop.URL, open())
			})
		}
	}
}

func buyThrough(t *testing.T, d *dev, shop string, v visitor) {
	influencer := "Ana of " + t.Name()
	if err := v.open(d.landing(t, d.register(t, influencer, "Inverno", ""), shop)); err != nil {
		t.Fatal(err)
	}
	var last string
	until := func(what, function string) {
		t.Helper()
		await.Until(t, await.Long, func() bool {
			var err error
			last, err = v.eval(function)
			return err == nil && last != ""
		}, func() string { return what + ": " + last })
	}
	click := func(test string) {
		t.Helper()
		// A link works at once. A button of a page that was rendered to a file does nothing before React has taken it over; and of
		// routes that follow each other before the SDK's second file is there the last alone is a view.
		until(test, fmt.Sprintf(`() => {
			const e = document.querySelector('[data-test=%q]');
			if (!e || e.tagName == "BUTTON" && document.querySelector("script[src*='_next']") &&
				(!Object.keys(e).some((key) => key.startsWith("__react")) || !tributary.loaded || tributary._)) return "";
			e.click();
			return "clicked";
		}`, test))
	}
	until("the landing", `() => location.search.includes("trb_click=") ? location.search : ""`)
	for _, step := range []string{"tee-m", "add", "cart", "checkout", "place"} {
		click(step)
	}
	until("the order", `() => document.querySelector('[data-test="order"]')?.textContent || ""`)
	id := last
	if !strings.HasPrefix(id, "web-") {
		t.Fatalf("the order is %q", id)
	}
	e := d.explain(t, id, func(e facts.Explanation) bool { return e.Payout.Winner != nil })
	if w := e.Payout.Winner; w.Influencer != influencer || w.Evidence != "link" {
		t.Errorf("winner %+v, want %s by link", *w, influencer)
	}
	// Each step once.
	want := "ADD_TO_CART /product/tee-m, CHECKOUT_COMPLETED /checkout, INITIATE_CHECKOUT /checkout, PAGE_VIEW , PAGE_VIEW /cart, PAGE_VIEW " +
		"/checkout, PAGE_VIEW /product/tee-m, PRODUCT_VIEW /product/tee-m"
	got := ""
	await.Until(t, await.Long, func() bool {
		var seen []string
		for _, stored := range storedEvents(t, d.Postgres) {
			if strings.HasPrefix(stored.Event.Context.Page.URL, shop) {
				seen = append(seen, stored.Event.Event+" "+strings.TrimSuffix(stored.Event.Context.Page.Path, "/"))
			}
		}
		slices.Sort(seen)
		got = strings.Join(seen, ", ")
		return len(seen) >= strings.Count(want, ",")+1
	}, func() string { return "events " + got })
	if got != want {
		t.Errorf("events %s\nwant %s", got, want)
	}
}
