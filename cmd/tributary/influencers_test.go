package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestASpreadsheetIsReadAsPeopleWriteIt(t *testing.T) {
	tag := "en"
	f := func(file, want string) []importedLine {
		t.Helper()
		words, err := languageOf(tag)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := readSpreadsheet(strings.NewReader(file), words)
		text := ""
		if err != nil {
			text = err.Error()
		}
		for _, line := range lines {
			text += strings.Join(line.bad, "; ")
		}
		if want == "" && text != "" || !strings.Contains(text, want) {
			t.Errorf("%q: %q, want %q", file, text, want)
		}
		return lines
	}
	lines := f("\ufeffname;links;coupon;var_fee;fixed_fee;cost_start;coupon_only\r\n"+
		"Ana Prado;https://loja.example.com/a https://loja.example.com/b;ana20;12,5%;1.234,50;2026-03-01;sim\r\n"+
		"Beto;https://loja.example.com/;;;;;\r\n", "")
	if len(lines) != 2 || len(lines[0].asked.Links) != 2 || lines[0].asked.Coupons[0].Code != "ANA20" ||
		lines[0].asked.Costs[0].FixedFeeMinor != 123450 ||
		lines[0].asked.Costs[0].VarFee.String() != "12.5" || !lines[0].asked.Costs[0].CouponCost || lines[1].number != 3 ||
		len(lines[1].asked.Costs) != 0 {
		t.Errorf("%+v", lines)
	}
	f("name,links\nAna,\n", "links must have at least 1 element")
	f("name,links\n,https://loja.example.com/\n", "name is empty")
	f("name,links,var_fee\nAna,https://loja.example.com/,much\n", `var_fee "much": must be a number`)
	f("name,links,coupon,coupon_start\nAna,https://loja.example.com/,A,31/03/2026\n", `coupon_start "31/03/2026": must be a day`)
	f("name,url\n", `a column "url"`)
	f("category\n", "needs the column name")
	f("", "its first line")
	f("name,links\nAna\n", "wrong number of fields")
	f("name,links\n"+strings.Repeat("a,b\n", mostImported+1), "more than 10000 lines")
	// What is cut off would be lost, or stored by half.
	f("name,links\n"+strings.Repeat("Ana,"+strings.Repeat("https://loja.example.com/ ", 400)+"\n", maxSpreadsheet/(400*26)+2),
		"more than 16 MiB")
	// Which of them counts is nobody's guess.
	f("name,links,coupon,links\nAna,https://loja.example.com/,A,https://loja.example.com/b\n", `the column "links" twice`)
	for _, word := range []string{"sim", "YES", "true", "1", "no", "não", "nao", "false", "0", ""} {
		f("name,links,var_fee,coupon_only\nAna,https://loja.example.com/,10,"+word+"\n", "")
	}
	f("name,links,var_fee,coupon_only\nAna,https://loja.example.com/,10,x\n", `coupon_only "x" is neither yes nor no`)
	// What belongs to a coupon or a fee that is not there was meant for one.
	f("name,links,coupon,coupon_end\nAna,https://loja.example.com/,,2026-03-31\n", "coupon_end needs a coupon")
	f("name,links,var_fee,cost_end\nAna,https://loja.example.com/,,2026-03-31\n", "cost_end needs var_fee or fixed_fee")
	// The file says in which language its numbers and days are.
	const terms = "name;links;fixed_fee;cost_start\nAna;https://loja.example.com/;"
	f(terms+"1.500;2026-03-01\n", `fixed_fee "1.500": 1.500 can be R$`+"\u00a01,500.00 or R$\u00a01.50")
	f(terms+"1500;11/01/2026\n", "11/01/2026 can be 2026-01-11 or 2026-11-01")
	tag = "pt-BR"
	cost := f(terms+"R$ 1.500;11/01/2026\n", "")[0].asked.Costs[0]
	if cost.FixedFeeMinor != 150000 || cost.StartDate != "2026-01-11" {
		t.Errorf("%+v", cost)
	}
	f(terms+"1,500;2026-03-01\n", `fixed_fee "1,500": 1,500 can be R$`+"\u00a01.500,00 or R$\u00a01,50")
	f(terms+"5%;2026-03-01\n", "not a percentage")
	if _, err := languageOf("pt"); err == nil {
		t.Error("a language that there is not is taken")
	}
}

// openInstallation opens the database of installation.
func openInstallation(t *testing.T) stores {
	t.Helper()
	db, err := openStores(t.Context(), os.Getenv("TRIBUTARY_POSTGRES"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func TestADryRunStoresNothing(t *testing.T) {
	live, _ := installation(t)
	words, err := languageOf("en")
	if err != nil {
		t.Fatal(err)
	}
	lines := []importedLine{readImportedLine(2,
		map[string]string{"name": "Ana", "links": "https://loja.example.com/", "coupon": "ana20", "var_fee": "10"}, words),
		readImportedLine(3, map[string]string{"name": "Beto", "links": "https://loja.example.com/", "coupon": "ANA20"}, words)}
	db := openInstallation(t)
	f := func(dryRun bool, wantError string, want ...string) {
		t.Helper()
		results, err := importInfluencers(t.Context(), db, live.CompanyID, lines, dryRun)
		var out strings.Builder
		for _, r := range results {
			out.WriteString(r.words() + "\n")
		}
		if (err == nil) != (wantError == "") || err != nil && !strings.Contains(err.Error(), wantError) {
			t.Errorf("dry %t: %v, want %q", dryRun, err, wantError)
		}
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("dry %t: %q, want %q", dryRun, out.String(), text)
			}
		}
	}
	f(true, "", "line 2: Ana, 1 links, coupon ANA20, an agreement: would be registered")
	f(false, "1 of 2 lines were refused", "line 2: Ana, 1 links, coupon ANA20, an agreement: registered",
		"line 3: Beto, 1 links, coupon ANA20: refused, ANA20 is already Ana's")
	lines[0].bad = []string{"something"}
	f(false, "nothing was stored", "line 2, Ana: something")
}

func TestAnImportIsToldAsJSON(t *testing.T) {
	live, _ := installation(t)
	file := filepath.Join(t.TempDir(), "parceiros.csv")
	if err := os.WriteFile(file, []byte("name,links,coupon_end\nAna,https://93.184.216.34.nip.example/,2026-03-31\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, status := command(t, "influencers", "import", file, "--company", live.CompanyID, "--json", "--dry-run")
	var results []importedResult
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&results); err != nil || status != 1 || len(results) != 1 ||
		results[0].Line != 2 ||
		results[0].Result != lineBroken || results[0].Problems[0] != "coupon_end needs a coupon" {
		t.Errorf("%d, %s: %v", status, out, err)
	}
}
