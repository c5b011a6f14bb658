package spreadsheet

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/lang"
)

// parts are the files of a workbook, by name.
type parts map[string]string

// zipped packs them.
func zipped(t testing.TB, p parts) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, text := range p {
		if part, err := w.Create(name); err != nil {
			t.Fatal(err)
		} else if _, err := io.WriteString(part, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

const (
	rootRelations = `<Relationships><Relationship Id="rId1" Target="xl/workbook.xml" Type="http://a/officeDocument"/></Relationships>`
	bookRelations = `<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml" Type="http://a/worksheet"/>` +
		`<Relationship Id="rId2" Target="/xl/styles.xml" Type="http://a/styles"/>` +
		`<Relationship Id="rId3" Target="sharedStrings.xml" Type="http://a/sharedStrings"/>` +
		`<Relationship Id="rId4" Target="worksheets/sheet2.xml" Type="http://a/worksheet"/></Relationships>`
	oneSheet = `<workbook><sheets><sheet name="Parceiros" sheetId="1" r:id="rId1"/></sheets></workbook>`
	// The styles 1 to 8: a day, a percentage, Brazilian money, the CPF's format, eleven zeros, a time, a day in Portuguese, a text.
	someStyles = `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="&quot;R$&quot;\ #,##0.00;[Red]\-0.00"/>` +
		`<numFmt numFmtId="165" formatCode="000&quot;.&quot;000&quot;.&quot;000\-00"/><numFmt numFmtId="166" formatCode="00000000000"/>` +
		`<numFmt numFmtId="167" formatCode="[$-416]d\ &quot;de&quot;\ mmmm;@"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>` +
		`<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="10"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="166"/>` +
		`<xf numFmtId="22"/><xf numFmtId="167"/><xf numFmtId="49"/></cellXfs></styleSheet>`
	someStrings = `<sst><si><t>Nome</t></si><si><t>Cupom</t></si><si><r><t xml:space="preserve">Júlia </t></r><r><t>Conceição</t></r>` +
		`<rPh><t>x</t></rPh></si><si><t>a_x000D_` + "\n" + `b &amp; "c"; d</t></si><si/></sst>`
)

// book is a workbook with one sheet of these rows, and other parts in place of its own.
func book(rows string, other parts) parts {
	p := parts{"_rels/.rels": rootRelations, "xl/workbook.xml": oneSheet, "xl/_rels/workbook.xml.rels": bookRelations,
		"xl/styles.xml": someStyles, "xl/sharedStrings.xml": someStrings,
		"xl/worksheets/sheet1.xml": "<worksheet><sheetData>" + rows + "</sheetData></worksheet>"}
	for name, text := range other {
		p[name] = text
	}
	return p
}

func inline(cell, text string) string {
	return `<c r="` + cell + `" t="inlineStr"><is><t>` + text + `</t></is></c>`
}

var nameRow = `<row r="1">` + inline("A1", "Nome") + `</row>`

// texts are those of the pages.
func texts(t testing.TB) *lang.Languages {
	t.Helper()
	texts, err := site.LoadTexts()
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// repeated are the texts of 0 to n-1.
func repeated(n int, text func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(text(i))
	}
	return b.String()
}

// Whoever may import can send any file: what it is inflated to, and what is made of it, is bounded.
func TestAHostileWorkbookIsRefusedBeforeItTakesMemory(t *testing.T) { //nolint:paralleltest // it counts what the process allocates
	in := texts(t).Of("en")
	sheet := func(rows string) parts { return book(nameRow+rows, nil) }
	styles := func(text string) parts {
		return book(nameRow, parts{"xl/styles.xml": "<styleSheet>" + text + "</styleSheet>"})
	}
	strs := func(rows, text string) parts {
		return book(nameRow+rows, parts{"xl/sharedStrings.xml": "<sst>" + text + "</sst>"})
	}
	with := func(name, text string) parts { return book("", parts{name: text}) }
	attributes := repeated(50_000, func(i int) string { return fmt.Sprintf(`a%d="" `, i%100) })
	formats := repeated(maxStyles+1, func(i int) string { return fmt.Sprintf(`<numFmt numFmtId="%d" formatCode="0"/>`, i) })
	pieces := strings.Repeat("<t>"+strings.Repeat("a", 30_000)+"</t>", 40)
	const entities = `<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;">]><worksheet><row><c t="str"><v>&c;</v></c></row></worksheet>`
	outside := strings.ReplaceAll(bookRelations, "sheet1", "../../../etc/passwd")
	for name, c := range map[string]struct {
		parts parts
		want  string
		most  uint64 // MiB that reading it may allocate, all in all
	}{
		"a sheet of blanks": {sheet(strings.Repeat(" ", 17<<20)), "too large when it is unpacked", 8},
		"strings":           {strs("", strings.Repeat("<si/>", maxStrings+1)), "too large when", 160},
		"styles":            {styles("<cellXfs>" + strings.Repeat("<xf/>", maxStyles+1) + "</cellXfs>"), "damaged", 40},
		"formats":           {styles(formats), "damaged", 300},
		"one string many times": {strs(strings.Repeat("<row>"+strings.Repeat(`<c t="s"><v>0</v></c>`, 60)+"</row>", 5000),
			"<si><t>"+strings.Repeat("a", 30_000)+"</t></si>"), "more than 2 MiB", 40},
		"many nested tags":      {sheet(strings.Repeat("<a>", 100_000) + strings.Repeat("</a>", 100_000)), "damaged", 8},
		"one tag":               {sheet("<row " + attributes + "/>"), "damaged", 16},
		"one text":              {sheet("<row><c><v>" + strings.Repeat("1", 1<<20) + "</v></c></row>"), "damaged", 8},
		"one comment":           {sheet("<!--" + strings.Repeat("a", 1<<20) + "-->"), "damaged", 8},
		"a text in parts":       {sheet(`<row><c t="inlineStr"><is>` + pieces + "</is></c></row>"), "damaged", 40},
		"a string in parts":     {strs("", "<si>"+pieces+"</si>"), "too large when", 40},
		"the last cell":         {sheet(`<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>`), "more than 60 columns", 4},
		"the last row":          {sheet(`<row r="1048576"><c r="A1048576"><v>1</v></c></row>`), "more than 5,000 lines", 4},
		"lines":                 {sheet(strings.Repeat("<row><c><v>1</v></c></row>", 5001)), "more than 5,000 lines", 90},
		"a row that is not":     {sheet(`<row r="99999999999"><c><v>1</v></c></row>`), "damaged", 4},
		"a row before its time": {sheet(`<row r="5"/><row r="3"/>`), "damaged", 4},
		"a row below zero":      {sheet(`<row r="-1"/>`), "damaged", 4},
		"a column that is not":  {sheet(`<row><c r="ZZZZZZZZZZZZ2"><v>1</v></c></row>`), "damaged", 4},
		"a column twice":        {sheet(`<row><c r="A2"><v>1</v></c><c r="A2"><v>1</v></c></row>`), "damaged", 4},
		"a string that is not":  {sheet(`<row><c t="s"><v>-1</v></c></row>`), "damaged", 4},
		"entities":              {with("xl/worksheets/sheet1.xml", entities), "damaged", 4},
		"another character set": {with("xl/workbook.xml", `<?xml version="1.0" encoding="UTF-7"?>`+oneSheet), "damaged", 4},
		"a part outside":        {with("xl/_rels/workbook.xml.rels", outside), "damaged", 4},
		"many sheets": {with("xl/workbook.xml", "<workbook><sheets>"+strings.Repeat(`<sheet name="a" state="hidden"/>`, 20_000)+
			"</sheets></workbook>"), "no visible sheet", 20},
		"a workbook in another":  {parts{"a.xlsx": string(zipped(t, book(nameRow, nil)))}, "no Excel workbook", 4},
		"a number of much space": {sheet(`<row><c r="A2"><v>1E2147483647</v></c></row>`), "", 4},
	} {
		file := zipped(t, c.parts)
		if len(file) > MaxBytes {
			t.Errorf("%s: it could not be sent", name)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		table, err := Parse(file, "", in)
		runtime.ReadMemStats(&after)
		got := ""
		if err != nil {
			got = site.TypedText(in, err)
		}
		if (err == nil) != (c.want == "") || !strings.Contains(got, c.want) || table != nil && len(table.Text()) > MaxBytes {
			t.Errorf("%s, %d bytes: %.200q, want %q", name, len(file), got, c.want)
		}
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > c.most {
			t.Errorf("%s, %d bytes: %d MiB were allocated, at most %d", name, len(file), took, c.most)
		}
	}
}

// What a file says of its size is not believed.
func TestAWorkbookThatSaysItIsSmallIsRefused(t *testing.T) {
	t.Parallel()
	var packed, file bytes.Buffer
	pack, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(pack, "<worksheet>"+strings.Repeat(" ", 17<<20)+"</worksheet>"); err != nil || pack.Close() != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(&file)
	for name, text := range book("", nil) {
		var part io.Writer
		if name == "xl/worksheets/sheet1.xml" {
			text = packed.String()
			part, err = w.CreateRaw(&zip.FileHeader{Name: name, Method: zip.Deflate, CompressedSize64: uint64(len(text)), UncompressedSize64: 99})
		} else {
			part, err = w.Create(name)
		}
		if err == nil {
			_, err = io.WriteString(part, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, read, err := workbookText(file.Bytes(), "", texts(t).Of("en")); !errors.Is(err, errDamaged) {
		t.Errorf("%v, %q", err, read)
	}
	// Whatever the archive's reader does: no more is read than is left.
	left := int64(1000)
	source := &bounded{from: strings.NewReader(strings.Repeat("a", 5000)), left: &left, token: maxToken}
	if got, err := io.ReadAll(source); len(got) != 1000 || !errors.Is(err, errInflated) {
		t.Errorf("%d, %v", len(got), err)
	}
}

// A cell says what the spreadsheet shows, exactly, whatever floating-point number is stored.
func TestCellsAreReadAsTheyAreShown(t *testing.T) {
	t.Parallel()
	all := texts(t)
	for cell, want := range map[string][2]string{ // in English and in Portuguese
		`<c t="s"><v>2</v></c>`:                            {"Júlia Conceição", "Júlia Conceição"},
		`<c t="s"><v>3</v></c>`:                            {"a\nb & \"c\"; d", "a\nb & \"c\"; d"},
		`<c t="s"><v>4</v></c>`:                            {"", ""},
		`<c t="inlineStr"><is><t>01234567890</t></is></c>`: {"01234567890", "01234567890"},
		`<c t="str"><f>A1&amp;"x"</f><v>Anax</v></c>`:      {"Anax", "Anax"},
		`<c t="str"><f>""</f><v></v></c>`:                  {"", ""},
		`<c><f>1+1</f><v>2</v></c>`:                        {"2", "2"},
		`<c t="b"><v>1</v></c>`:                            {"true", "true"},
		`<c t="b"><v>0</v></c>`:                            {"false", "false"},
		`<c t="d"><v>2026-11-01T00:00:00</v></c>`:          {"2026-11-01", "2026-11-01"},
		`<c><v>1234.5</v></c>`:                             {"1234.5", "1234,5"},
		`<c s="3"><v>1234.5</v></c>`:                       {"1234.5", "1234,5"},
		`<c s="3"><v>29.899999999999999</v></c>`:           {"29.9", "29,9"},
		`<c s="3"><v>0.30000000000000004</v></c>`:          {"0.3", "0,3"},
		`<c s="3"><v>1.5</v></c>`:                          {"1.5", "1,5"},
		`<c s="3"><v>29.895</v></c>`:                       {"29.8950", "29,8950"}, // 29,895 could be thousands
		`<c s="3"><v>-12</v></c>`:                          {"-12", "-12"},
		`<c s="2"><v>0.125</v></c>`:                        {"12.5%", "12,5%"},
		`<c s="2"><v>7.0000000000000007E-2</v></c>`:        {"7%", "7%"},
		`<c s="2"><v>0.12345</v></c>`:                      {"12.3450%", "12,3450%"},
		`<c><v>52998224725</v></c>`:                        {"52998224725", "52998224725"},
		`<c><v>5.5119888877660001E12</v></c>`:              {"5511988887766", "5511988887766"},
		`<c><v>11222333000181.0</v></c>`:                   {"11222333000181", "11222333000181"},
		`<c><v>12345678901234567890</v></c>`:               {"12345678901234567890", "12345678901234567890"},
		`<c s="4"><v>1234567890</v></c>`:                   {"01234567890", "01234567890"},
		`<c s="5"><v>1234567890</v></c>`:                   {"01234567890", "01234567890"},
		`<c s="8"><v>1234567890</v></c>`:                   {"1234567890", "1234567890"},
		`<c s="1"><v>46327</v></c>`:                        {"2026-11-01", "2026-11-01"},
		`<c s="7"><v>46327</v></c>`:                        {"2026-11-01", "2026-11-01"},
		`<c s="6"><v>46327.604166666664</v></c>`:           {"2026-11-01 14:30", "2026-11-01 14:30"},
		`<c s="1"><v>59</v></c>`:                           {"1900-02-28", "1900-02-28"},
		`<c s="1"><v>61</v></c>`:                           {"1900-03-01", "1900-03-01"},
		`<c s="1"><v>-5</v></c>`:                           {"-5", "-5"},
		`<c s="1"><v>2958466</v></c>`:                      {"2958466", "2958466"},
		`<c s="99"><v>5</v></c>`:                           {"5", "5"},
		`<c><v>1E2147483647</v></c>`:                       {"1E2147483647", "1E2147483647"},
		`<c><v>x</v></c>`:                                  {"x", "x"},
		`<c s="1"/>`:                                       {"", ""},
	} {
		for i, tag := range []string{"en", "pt-BR"} {
			rows := `<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c></row><row>` + inline("A2", "Ana") + cell + `</row>`
			table, err := Parse(zipped(t, book(rows, nil)), "",
				all.Of(tag))
			if err != nil || !slices.Equal(table.Headers, []string{"Nome", "Cupom"}) {
				t.Errorf("%s: %v, %+v", cell, err, table)
			} else if got := strings.Join(table.rows[0].cells[1:], ""); got != want[i] {
				t.Errorf("%s in %s: %q, want %q", cell, tag, got, want[i])
			}
		}
	}
}

// What a file is read from, and what somebody is told who chose another kind of file.
func TestAWorkbooksFirstVisibleSheetIsRead(t *testing.T) {
	t.Parallel()
	in := texts(t).Of("en")
	f := func(file []byte, want string) *Table {
		t.Helper()
		table, err := Parse(file, "", in)
		got := ""
		if err != nil {
			got = site.TypedText(in, err)
		}
		if (err == nil) != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%.60q: %q, want %q", file, got, want)
		}
		return table
	}
	sheets := func(list string) parts {
		return parts{"xl/workbook.xml": `<workbook><workbookPr date1904="1"/><sheets>` + list + `</sheets></workbook>`,
			"xl/worksheets/sheet2.xml": `<worksheet><sheetData><row r="3">` + inline("B3", "name") + inline("C3", "a;\nb\t,,,") +
				`</row><row r="7"><c r="B7" t="inlineStr"><is><t>Ana` + "\n" + `Prado</t></is></c></row><row r="9">` + inline("B9", "Beto") +
				`<c r="C9" s="1"><v>44865</v></c></row></sheetData></worksheet>`}
	}
	table := f(zipped(t, book("", sheets(`<sheet name="x" state="hidden" r:id="rId1"/><sheet name="y" r:id="rId2"/>`+
		`<sheet name="Dois" r:id="rId4"/><sheet name="z" r:id="rId1"/>`))), "")
	if table.Sheet != "Dois" || !slices.Equal(table.Headers, []string{"", "name", "a;\nb\t,,,"}) ||
		len(table.rows) != 2 || table.rows[0].number != 7 || table.rows[0].cells[1] != "Ana\nPrado" || table.rows[1].number != 9 ||
		table.rows[1].cells[2] != "2026-11-01" {
		t.Errorf("%+v", table)
	}
	// The text of a workbook is a file with the same cells, for the next step.
	if again := f([]byte(table.Text()), ""); !slices.EqualFunc(again.rows, table.rows, func(a, b row) bool {
		return a.number == b.number && slices.Equal(a.cells, b.cells)
	}) {
		t.Errorf("%+v, want %+v", again.rows, table.rows)
	}
	// Where Windows wrote the names of the parts otherwise, they are the same.
	upper := book(nameRow, nil)
	upper["XL/Worksheets/Sheet1.xml"] = upper["xl/worksheets/sheet1.xml"]
	delete(upper, "xl/worksheets/sheet1.xml")
	if table := f(zipped(t, upper), ""); table.Sheet != "Parceiros" {
		t.Errorf("%+v", table)
	}
	f(zipped(t, book("", sheets(`<sheet name="x" state="veryHidden" r:id="rId1"/>`))), "no visible sheet")
	f(zipped(t, book("<row/>", nil)), "no visible sheet with cells")
	f(zipped(t, book(nameRow+`<row><c r="A2"/><c r="B2"><f>A1</f></c></row>`, nil)), "cell B2 has a formula without a result")
	f(zipped(t, book(nameRow+`<row r="31"><c r="AB31" t="e"><f>1/0</f><v>#DIV/0!</v></c></row>`, nil)), "cell AB31 has an error (#DIV/0!)")
	f(zipped(t, parts{"mimetype": "application/vnd.oasis.opendocument.spreadsheet", "content.xml": "<a/>"}), "LibreOffice file (.ods)")
	f(zipped(t, parts{"_rels/.rels": rootRelations, "xl/workbook.bin": "x"}), "no Excel workbook")
	f(zipped(t, parts{"_rels/.rels": strings.ReplaceAll(rootRelations, "xl/workbook.xml", "xl/workbook.bin"), "xl/workbook.bin": "x"}),
		"no Excel workbook")
	f(zipped(t, parts{"Index/Document.iwa": "x"}), "no Excel workbook")
	f([]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "old Excel workbook (.xls)")
	f([]byte("\ufeff\r\n<html><table><tr><td>Nome</td></tr></table></html>"), "web page")
	f([]byte("PK\x03\x04 and more"), "damaged")
	f(zipped(t, book(nameRow, nil))[:900], "damaged")
}

// One of several sheets is chosen by its name. The list of names is bounded, as each of them is.
func TestASheetIsChosenByItsName(t *testing.T) {
	t.Parallel()
	in := texts(t).Of("en")
	file := func(list string) []byte {
		return zipped(t, book(nameRow, parts{"xl/workbook.xml": `<workbook><sheets>` + list + `</sheets></workbook>`,
			"xl/worksheets/sheet2.xml": `<worksheet><row>` + inline("A1", "name") + inline("B1", "coupon") + `</row></worksheet>`}))
	}
	several := file(`<sheet name="Notas" r:id="rId1"/><sheet name="Preços" state="hidden" r:id="rId1"/><sheet name="Parceiras" r:id="rId4"/>`)
	if names := Sheets(several); !slices.Equal(names, []string{"Notas", "Parceiras"}) {
		t.Errorf("%q", names)
	}
	for sheet, headers := range map[string][]string{"": {"Nome"}, "Notas": {"Nome"}, "parceiras": {"name", "coupon"}} {
		if table, err := Parse(several, sheet, in); err != nil || !slices.Equal(table.Headers, headers) {
			t.Errorf("%q: %+v, %v", sheet, table, err)
		}
	}
	for name, f := range map[string][]byte{"Preços": several, "x": []byte("name\nAna\n")} {
		if _, err := Parse(f, name, in); err == nil || !strings.Contains(site.TypedText(in, err), "“"+name+"”") {
			t.Errorf("%q: %v", name, err)
		}
	}
	long := file(`<sheet name="` + strings.Repeat("é", 200) + `" r:id="rId1"/>`)
	if names := Sheets(long); !slices.Equal(names, []string{strings.Repeat("é", 100)}) {
		t.Errorf("%q", names)
	}
	many := file(strings.Repeat(`<sheet name="a" r:id="rId1"/>`, 256))
	if names := Sheets(many); names != nil {
		t.Errorf("%d names", len(names))
	}
	if _, err := Parse(many, "", in); err == nil || !strings.Contains(site.TypedText(in, err), "more than 255 sheets") {
		t.Error(err)
	}
}

// The numbers of a format's code say whether what it shows is a day.
func TestFormatsAreRead(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]format{
		"General": {}, "": {}, "@": {}, "0": {zeros: 1}, "0000": {zeros: 4}, "0.00": {}, "#,##0": {}, `"dia" 0`: {}, `\d0`: {zeros: 1},
		"dd/mm/yyyy": {day: true}, "[$-416]mmm": {day: true}, "[h]:mm": {day: true}, "[ss]": {day: true}, "[Red]0": {}, "0.0%": {percent: true},
		"0;[Red]dd": {zeros: 1}, `_-"R$"* #,##0.00_-`: {}, `"R$`: {}, "[": {}, `0\`: {zeros: 1}, "_": {},
		`[<=9999999]0000\-0000;\(00\)\ 00000\-0000`: {},
	} {
		if got := codeFormat(code); got != want {
			t.Errorf("%q: %+v, want %+v", code, got, want)
		}
	}
}

func FuzzWorkbook(f *testing.F) {
	in := texts(f).Of("pt-BR")
	f.Add(`<row r="1">` + inline("A1", "Nome") + `</row><row r="3"><c r="B3" s="1"><v>46327</v></c></row>`)
	f.Add(`<row><c t="s"><v>3</v></c><c s="2"><f>1</f><v>1e-9</v></c></row>`)
	f.Fuzz(func(t *testing.T, rows string) {
		table, err := Parse(zipped(t, book(rows, nil)), "", in)
		if err != nil {
			return
		}
		if again, err := Parse([]byte(table.Text()), "", in); err != nil || len(again.rows) != len(table.rows) {
			t.Errorf("the text of a workbook that is read is not: %v: %q", err, table.Text())
		}
	})
}
