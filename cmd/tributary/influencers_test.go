package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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
	if _, err := languageOf("pt"); err == nil {
		t.Error("a language that there is not is taken")
	}
	db := openInstallation(t)
	lines, err := readSpreadsheet(t.Context(), db, live.CompanyID, strings.NewReader("name,links,coupon,var_fee\n"+
		"Ana,https://loja.example.com/,ana20,10\nBeto,https://loja.example.com/,ANA20,\nCaio,https://loja.example.com/,,\n"), "", words)
	if err != nil {
		t.Fatal(err)
	}
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
	// What a dry run says is what the run then does: the second line's coupon is the first one's.
	for _, dryRun := range []bool{true, false} {
		f(dryRun, "1 of 3 lines are refused: nothing was stored",
			"line 3: Beto, 1 links, coupon ANA20: refused, ANA20 is the coupon of a line before")
	}
	lines = slices.Delete(lines, 1, 2)
	f(true, "", "line 2: Ana, 1 links, coupon ANA20, an agreement: would be registered")
	f(false, "", "line 2: Ana, 1 links, coupon ANA20, an agreement: registered", "line 4: Caio, 1 links: registered")
	f(true, "", "line 2: Ana, 1 links, coupon ANA20, an agreement: no change", "line 4: Caio, 1 links: no change")
	lines[1].Asked.Name, lines[1].Asked.Coupons = "Dora", lines[0].Asked.Coupons
	f(true, "nothing was stored", "refused, ANA20 is already Ana's")
	lines[0].Problems = []string{"something"}
	f(false, "nothing was stored", "line 2, Ana: something")
}

func TestTheImportReadsAChosenSheet(t *testing.T) {
	live, _ := installation(t)
	file := filepath.Join(t.TempDir(), "parceiros.xlsx")
	var book bytes.Buffer
	w := zip.NewWriter(&book)
	row := func(text string) string {
		return `<row><c t="str"><v>` + text + `</v></c><c t="str"><v>Cupom</v></c></row>`
	}
	for name, text := range map[string]string{
		"_rels/.rels":     `<a><Relationship Id="r" Target="xl/workbook.xml" Type="http://a/officeDocument"/></a>`,
		"xl/workbook.xml": `<workbook><sheets><sheet name="Notas" r:id="a"/><sheet name="Parceiras" r:id="b"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<a><Relationship Id="a" Target="1.xml" Type="http://a/worksheet"/>` +
			`<Relationship Id="b" Target="2.xml" Type="http://a/worksheet"/></a>`,
		"xl/1.xml": "<a>" + row("Assunto") + row("nada") + "</a>",
		"xl/2.xml": "<a>" + row("Nome") + row("Dora Lima") + "</a>",
	} {
		if part, err := w.Create(name); err != nil {
			t.Fatal(err)
		} else if _, err := io.WriteString(part, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), os.WriteFile(file, book.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sheet, want string
		status      int
	}{{"", "no column is read as the name", 1}, {"Parceiras", "line 2: Dora Lima, 0 links, coupon CUPOM: would be registered", 0},
		{"Preços", "no visible sheet “Preços”", 1}} {
		out, status := command(t, "influencers", "import", file, "--company", live.CompanyID, "--dry-run", "--sheet", c.sheet)
		if status != c.status || !strings.Contains(out, c.want) {
			t.Errorf("%q: %d, %s", c.sheet, status, out)
		}
	}
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
		results[0].Result != lineBroken || results[0].Problems[0] != "coupon_end needs a coupon in the same line" {
		t.Errorf("%d, %s: %v", status, out, err)
	}
}
