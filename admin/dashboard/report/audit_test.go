package report

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/lang"
)

// merchantSources returns the languages, and the sources that write into the audit log by
// their names.
func merchantSources(t *testing.T) (*lang.Languages, map[string]string) {
	t.Helper()
	l, err := site.LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../../internal/postgres/merchant/*.go")
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sources[file] = string(body)
	}
	return l, sources
}

// Every action that is written into the audit log has words, and a kind to filter by.
func TestEveryActionHasWords(t *testing.T) {
	t.Parallel()
	l, sources := merchantSources(t)
	var kinds []string
	for _, kind := range auditKinds {
		kinds = append(kinds, strings.TrimSuffix(kind, "."))
	}
	action, found := regexp.MustCompile(`"((?:`+strings.Join(kinds, "|")+`)\.[a-z_]+)"`), 0
	for file, body := range sources {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, match := range action.FindAllStringSubmatch(body, -1) {
			found++
			for _, p := range l.All() {
				if !p.Has("audit.action." + match[1]) {
					t.Errorf("%s has no text for the action %s of %s", p.Tag, match[1], filepath.Base(file))
				}
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d actions found", found)
	}
}

// Each name of a detail has words too.
func TestEveryDetailHasWords(t *testing.T) {
	t.Parallel()
	l, sources := merchantSources(t)
	maps, name, found := regexp.MustCompile(`Detail[^\n]*map\[string\]any\{([^}]*)\}|detail := [^\n]*map\[string\]any\{([^}]*)\}|func `+
		`settingsArgs[^}]*\{([^}]*)\}`), regexp.MustCompile(`"([a-z_]+)":`), 0
	for file, body := range sources {
		for _, match := range maps.FindAllStringSubmatch(body, -1) {
			for _, key := range name.FindAllStringSubmatch(strings.Join(match[1:], " "), -1) {
				if found++; slices.Contains([]string{"from", "to", "amount_minor"}, key[1]) {
					continue // of a change; told as amount, with the currency
				}
				for _, p := range l.All() {
					if !p.Has("audit.d_"+key[1]) && !p.Has("settings."+key[1]) {
						t.Errorf("%s has no text for the detail %s of %s", p.Tag, key[1], filepath.Base(file))
					}
				}
			}
		}
	}
	if found < 30 {
		t.Errorf("only %d details found", found)
	}
}

func TestDetailsAreToldInTheLanguageOfThePage(t *testing.T) {
	t.Parallel()
	l, err := site.LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		t.Fatal(err)
	}
	d := details{l: l.Of("pt-BR"), zone: zone, names: map[string]string{"camp_1": "Verão", "id-1": "Ana Prado"}}
	f := func(detail, want string) {
		t.Helper()
		if got := d.words(detail, ""); got != want {
			t.Errorf("%s: %q, want %q", detail, got, want)
		}
	}
	f(`{"name":"Ana Prado","campaign_id":"camp_1","links":2}`, "Campanha: Verão; Links: 2; Nome: Ana Prado")
	f(`{"hold_days":{"from":30,"to":0}}`, "Carência em dias: 30 → 0")
	f(`{"payout_rule":{"from":"coupon_first","to":"last_touch"}}`, "Cupom e link de dois influenciadores: O do cupom → O último")
	f(`{"paid_at":"2026-05-05T12:00:00Z","reference":"PIX 1"}`, "Pago em: 05/05/2026, 09:00; Referência: PIX 1")
	f(`{"influencer_id":"id-1","decision":"accept"}`, "Decisão: aceito; Influenciador: Ana Prado")
	f(`{"value_minor":19900,"start_date":"2026-05-01","end_date":""}`, "De: 01/05/2026; Valor: R$\u00a0199,00")
	f(`{"var_fee":"12.5","fixed_fee_minor":500,"influencer_id":"id-1"}`,
		"Influenciador: Ana Prado; Percentual das vendas: 12,5%; Valor por pedido: R$\u00a05,00")
	f(`{"fields":["document","pix","email"]}`, "Dados: CPF ou CNPJ, Pix, E-mail")
	f(`{"pay_recurring":{"from":false,"to":true}}`, "Pagar pedidos recorrentes de assinatura: não → sim")
	f(`{"origins":{"from":[],"to":["https://a.example","https://b.example"]}}`, "Origens: – → https://a.example, https://b.example")
	f(`{"by":["email","visitor"]}`, "Por: e-mail, visitante")
	f(`not JSON`, "")
}
