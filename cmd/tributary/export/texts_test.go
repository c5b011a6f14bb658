package export

import (
	"bytes"
	"os"
	"strconv"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"

	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// came is an event of a page, by whose id it is another time than by its clock.
func (f *files) came(at time.Time, page, referrer string) {
	f.t.Helper()
	f.Came(wire.Event{CompanyID: f.company, EventID: idAt(f.t, at), Event: "PAGE_VIEW", ReceivedAt: noon.Add(time.Second), Timestamp: noon,
		VisitorID: visitor, Bot: wire.BotNone, Context: wire.Context{Page: wire.Page{URL: page, Referrer: referrer}}})
}

// One text that is not UTF-8 makes engines refuse a query over all files.
func TestEveryTextOfAFileIsUTF8(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	day := noon.AddDate(0, 0, 9)
	f.came(day, "https://loja%FF.example.com/caf%E9/%FF?a=%FF", "https://%FFvelho.example.com/caf%E9")
	f.export("events")
	file, err := os.Open(f.path("events", day.Format(time.DateOnly)))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := parquet.Read[any](file, sizeOf(t, file))
	if err != nil || len(rows) != 1 {
		t.Fatalf("%v, %d rows", err, len(rows))
	}
	row, _ := rows[0].(map[string]any)
	for name, value := range row {
		if text, _ := value.(string); !utf8.ValidString(text) {
			t.Errorf("%s is %q", name, text)
		}
	}
	if row["page_path"] != "/caf%E9/%FF" || row["page_host"] != "loja\ufffd.example.com" || row["referrer_host"] != "\ufffdvelho.example.com" {
		t.Errorf("%q", row)
	}
}

// What is somebody's in a path, a code or a name leaves in no file; the rest of it does.
func TestPathsAndCodesWithoutWhatIsSomebodys(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://loja.example.com/produto/vestido-longo-azul-2024?x=1":                  "/produto/vestido-longo-azul-2024",
		"https://loja.example.com/colecoes/verao-2024-promocao-relampago/caf%C3%A9":     "/colecoes/verao-2024-promocao-relampago/caf%C3%A9",
		"https://loja.example.com/pedido/0199f3a0-1234-1000-8000-00000000000a/obrigado": "/pedido/(id)/obrigado",
		"https://loja.example.com/pedido/0a6fe9a8-7c07-4b9f-b7fb-2f2b0c9e8a11":          "/pedido/(id)",
		"https://loja.example.com/c/hWN6bTdRkXq3ZpLf8YvJ2sGa/x":                         "/c/(id)/x",
		"https://loja.example.com/9f86d081884c7d659a2feaa0c55ad015":                     "/(id)",
		"https://loja.example.com": "",
	} {
		if got := pathOf(&wire.Page{URL: url}); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
	if got := pathOf(&wire.Page{Path: "/p/vestido?cpf=1#x"}); got != "/p/vestido" {
		t.Errorf("a page without a URL: %q", got)
	}
	f := newFiles(t)
	for id, code := range map[string]string{"4": "VERAO10,ana@example.com", "5": "VERAO10"} {
		f.Put(reporttest.Order{CompanyID: f.company, ID: id, CreatedAt: noon.AddDate(0, 0, 9), TotalMinor: 1,
			Sent: func(o *wire.Order) { o.DiscountCode = wire.Some(code) }})
	}
	f.export("orders")
	rows := rowsOf[orderRow](f, "orders", noon.AddDate(0, 0, 9).Format(time.DateOnly))
	if len(rows) != 2 || rows[0].DiscountCodes != "VERAO10,(email)" || rows[1].DiscountCodes != "VERAO10" {
		t.Errorf("%+v", rows)
	}
}

// A file has as many row groups as its rows need, and all rows once.
func TestAFileOfManyRowGroups(t *testing.T) {
	t.Parallel()
	const rows = 2*rowsPerGroup + rowsTogether/2
	var text bytes.Buffer
	if n, err := writeRows(&text, "parquet", func(add func(*creditRow) error) (err error) {
		for i := 0; i < rows && err == nil; i++ {
			err = add(&creditRow{OrderID: strconv.Itoa(i / 4), Position: int32(i), FirstMinor: new(int64)})
		}
		return err
	}); err != nil || n != rows {
		t.Fatal(n, err)
	}
	file, err := parquet.OpenFile(bytes.NewReader(text.Bytes()), int64(text.Len()))
	if err != nil || len(file.RowGroups()) != 3 {
		t.Fatalf("%v, %d row groups", err, len(file.RowGroups()))
	}
	list, err := parquet.Read[creditRow](bytes.NewReader(text.Bytes()), int64(text.Len()))
	if err != nil || len(list) != rows {
		t.Fatalf("%v, %d rows", err, len(list))
	}
	for i, row := range list {
		if row.Position != int32(i) || row.OrderID != strconv.Itoa(i/4) || *row.FirstMinor != 0 || row.LastMinor != nil {
			t.Fatalf("row %d is %+v", i, row)
		}
	}
}
