package dashboard_test

import (
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/admin/dashboard/shops"
	"github.com/tributary-io/tributary/internal/commerce"
)

// What the service says beside a reason is told in the page's language: each text is of something that the service says.
func TestTextsOfDetailsAreOfWhatTheServiceSays(t *testing.T) {
	t.Parallel()
	said := map[string]bool{}
	literal := regexp.MustCompile(`Detail: +"([^"]+)"`)
	err := filepath.WalkDir("../../connect", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, match := range literal.FindAllStringSubmatch(string(source), -1) {
			said[shops.DetailKey(match[1])] = true
		}
		return err
	})
	if err != nil || len(said) < 20 {
		t.Fatalf("%d details, %v", len(said), err)
	}
	texts, err := os.ReadFile("site/texts/pt-BR.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(texts), "\n[shops]\n")
	section, _, _ = strings.Cut(section, "\n[")
	of := regexp.MustCompile(`(?m)^detail_(\S+) = `).FindAllStringSubmatch(section, -1)
	if len(of) < 15 {
		t.Fatalf("only %d texts", len(of))
	}
	for _, key := range of {
		if !said[key[1]] {
			t.Errorf("shops.detail_%s is of nothing that the service says", key[1])
		}
	}
}

// A draft is tried only when its owner asks: its page says so, and leads to the keys, also when it is opened later.
func TestADraftThatFailedCanBeMended(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	service := s.connectService()
	id, waits := s.paste(owner)
	service.work(func(commerce.LeasedConnection, commerce.ConnectTask) (any, string, string) {
		return nil, commerce.ShopUnavailable, "WooCommerce does not answer there; are permalinks Plain?"
	})
	if status, text, _ := s.send(owner, "/dashboard/language", url.Values{"lang": {"pt-BR"}, "next": {"/dashboard/"}}); status !=
		http.StatusSeeOther {
		t.Fatalf("the language: %d %.300s", status, text)
	}
	if text := s.readAs(owner, waits); !contains(text, "Veja se o endereço da loja está certo", "Nenhum WooCommerce responde ali.") ||
		contains(text, "tentamos de novo sozinhos") {
		t.Errorf("the test: %s", text)
	}
	keys := "platform=vtex&amp;again=" + id
	if raw := s.readRaw(owner, s.shopPage(id)); !contains(raw, "Informar as chaves de novo", keys) {
		t.Errorf("the draft later: %s", raw)
	}
}
