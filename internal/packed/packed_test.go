package packed

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

const page = `{"companyId":"0199c3c2-0a4e-7f4e-9c51-2f5ed0c3a2b1","eventId":"01a20146-4a01-7000-8000-000000000005","event":"PAGE_VIEW",` +
	`"timestamp":"2026-11-22T03:21:53.409Z","context":{"page":{"url":"https://loja.example.com/p/bolsa","path":"/p/bolsa",` +
	`"referrer":"https://loja.example.com/","title":"Vestido de linho – Loja"},"library":{"name":"sdk-js","version":"1.0.0"},` +
	`"locale":"pt-BR","screen":"390x844","userAgent":"Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML,` +
	` like Gecko) Version/17.5 Mobile/15E148 Safari/604.1"},"visitorId":"56552441-1244-5aa2-bb9f-86ccbba7fe38",` +
	`"sessionId":"44d63347-a0cf-5dc1-ab9d-a5c26c78b7a8","stream":"76c21c7f-5ecc-5cd4-adf1-886e8736321c","seq":6,` +
	`"receivedAt":"2026-11-22T03:21:53.559Z","clockSkewMs":150,"ip":"203.0.113.0","cookieId":"efa88e47-efb8-57c5-b417-c807acdf4445",` +
	`"bot":"none","consent":"granted","via":"sdk-js","trust":"open","netKey":"k1:lATuoyV-1Y0T4RBuM9cJAilxkAD7XmV3Dvrk-nVpqss"}`

var beside = Beside{"0199c3c2-0a4e-7f4e-9c51-2f5ed0c3a2b1", "01a20146-4a01-7000-8000-000000000005", "PAGE_VIEW",
	"56552441-1244-5aa2-bb9f-86ccbba7fe38"}

func checkRecord(t *testing.T, record string, b Beside) (packed []byte) {
	t.Helper()
	for _, digest := range [][]byte{nil, bytes.Repeat([]byte{7}, DigestLength)} {
		packed = AppendRecord([]byte("x"), []byte(record), digest, b)[1:]
		got, gotDigest, err := Record(packed, b)
		if err != nil || string(got) != record || !bytes.Equal(gotDigest, digest) {
			t.Fatalf("%q became %q, %x, %v", record, got, gotDigest, err)
		}
	}
	return packed
}

func TestEveryRecordIsReadBackExactly(t *testing.T) {
	t.Parallel()
	f := func(record string) { t.Helper(); checkRecord(t, record, beside); checkRecord(t, record, Beside{}) }
	f("")
	f("{}")
	f(page)
	f(strings.ToUpper(page))
	f(strings.Repeat(page, 100)) // beyond what is copied from
	f(strings.Repeat("a", 70000) + strings.Repeat("bcdefg", 3))
	f(strings.ReplaceAll(page, ".409Z", ".4Z"))
	f(strings.ReplaceAll(page, ".409Z", "Z"))
	f(strings.ReplaceAll(page, ".409Z", ".400Z"))
	f(strings.ReplaceAll(page, ".409Z", ".4090Z"))
	f(strings.ReplaceAll(page, ".409Z", "+00:00"))
	f(strings.ReplaceAll(page, "03:21:53", "23:59:60"))
	f(strings.ReplaceAll(page, "pqss", "pqst")) // another text of the same base64url
	f(strings.ReplaceAll(page, `"2026-11-22T03`, `"0000-01-01T03`))
	f(strings.ReplaceAll(page, `"2026-11-22T03`, `"9999-12-31T23`))
	f(`"2026-11-22T03:21:53.409Z`)
	f(`"56552441-1244-5aa2-bb9f-86ccbba7fe38`)
	f(`"56552441-1244-5AA2-bb9f-86ccbba7fe38"`)
}

// What cuts, joins and changes a record's parts makes another text, which is read
// back exactly too.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(page), "PAGE_VIEW", "v")
	f.Add([]byte(`{"companyId":"c","timestamp":"2026-11-22T03:21:53.409Z"}`), "", "")
	f.Fuzz(func(t *testing.T, record []byte, name, visitor string) {
		checkRecord(t, string(record), Beside{EventID: beside.EventID, Name: name, Visitor: visitor})
		_, _, _ = Record(record, beside) // whatever the bytes, it ends
	})
}

func TestMixedRecordsAreReadBackExactly(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		var b strings.Builder
		for range r.IntN(30) {
			switch r.IntN(6) {
			case 0:
				b.WriteString(phrases[r.IntN(len(phrases))])
			case 1:
				from := r.IntN(len(page))
				b.WriteString(page[from : from+r.IntN(len(page)-from)])
			case 2:
				b.WriteByte(byte(r.IntN(256)))
			case 3:
				b.WriteString(`"` + time.UnixMilli(r.Int64N(7258118399999)).UTC().Format(time.RFC3339Nano) + `"`)
			case 4:
				b.WriteString(`"` + uuid.NewString() + `"`)
			case 5:
				b.WriteString(b.String()[:min(b.Len(), r.IntN(100))])
			}
		}
		checkRecord(t, b.String(), beside)
	}
}

func TestAPageViewTakesAQuarterOfItsText(t *testing.T) {
	t.Parallel()
	n := len(AppendRecord(nil, []byte(page), nil, beside))
	t.Logf("%d of %d bytes", n, len(page))
	if n > len(page)/4 {
		t.Errorf("%d of %d bytes", n, len(page))
	}
}

func TestBrokenRecordsAreErrors(t *testing.T) {
	t.Parallel()
	f := func(packed ...byte) {
		t.Helper()
		if got, _, err := Record(packed, beside); !errors.Is(err, ErrPacked) {
			t.Errorf("%v became %q, %v", packed, got, err)
		}
	}
	f()
	f(0, 'a')
	f(3, 'a')
	f(digestedRecord, 1, 2)
	f(plainRecord, 1, 'a')
	f(plainRecord, uuidToken, 1)
	f(plainRecord, keyToken, 1)
	f(plainRecord, timeToken)
	f(plainRecord, copyToken, 1, 0)
	f(plainRecord, 0, 'a', copyToken, 1)
	f(plainRecord, 0, 'a', copyToken, 1, 255, 255, 255, 255, 15)
	f(plainRecord, copyToken+1)
	f(plainRecord, besideToken+4)
	f(plainRecord, 255)
	packed := AppendRecord(nil, []byte(page), nil, beside)
	for i := range packed { // any end of a good one: an error or a shorter record
		if got, _, err := Record(packed[:i], beside); err == nil && !strings.HasPrefix(page, string(got)) {
			t.Errorf("%d bytes became %q", i, got)
		}
	}
}

// What is stored names phrases by their places.
func TestPhrasesKeepTheirPlaces(t *testing.T) {
	t.Parallel()
	if len(phrases) > 256-phraseTokens {
		t.Fatalf("%d phrases, there is room for %d", len(phrases), 256-phraseTokens)
	}
	known := map[string]bool{}
	for _, p := range phrases {
		if len(p) < prefixLength || known[p] {
			t.Errorf("%q is too short, or there twice", p)
		}
		known[p] = true
	}
	const pinned = "68ae63cdbcfa15b695bedb639fa12d9a1ee471ad112a5056c2079bcabd81cc4e"
	if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(phrases[:], "\n")))); sum != pinned {
		t.Errorf("the phrases are %s: what is stored cannot be read. Only a new form of records may have others", sum)
	}
}

func TestIDsAreReadBackExactly(t *testing.T) {
	t.Parallel()
	f := func(id string, bytes int) {
		t.Helper()
		packed := ID(id)
		if got, err := Text(packed); err != nil || got != id || len(packed) != bytes {
			t.Errorf("%q became %q in %d bytes, %v; want %d bytes", id, got, len(packed), err, bytes)
		}
	}
	f("", 1)
	f("v", 2)
	f("56552441-1244-5aa2-bb9f-86ccbba7fe38", 17)
	f("56552441-1244-5AA2-bb9f-86ccbba7fe38", 37)
	f("56552441-1244-5aa2-bb9f-86ccbba7fe3g", 37)
	f("56552441x1244-5aa2-bb9f-86ccbba7fe38", 37)
	f("k1:lATuoyV-1Y0T4RBuM9cJAilxkAD7XmV3Dvrk-nVpqss", 33)
	f("k1:lATuoyV-1Y0T4RBuM9cJAilxkAD7XmV3Dvrk-nVpqst", 47) // not how these bytes are written
	f("k2:lATuoyV-1Y0T4RBuM9cJAilxkAD7XmV3Dvrk-nVpqss", 47)
	f("lATuoyV-1Y0T4RBuM9cJAg", 17)
	f("key:lATuoyV-1Y0T4RBuM9cJAg", 17)
	f("d1:lATuoyV-1Y0T4RBuM9cJAg", 17)
	f("\x01aaaaaaaaaaaaaaaa", 18)
	for _, broken := range [][]byte{nil, {1}, {2, 0}, {3}, {6}, append([]byte{1}, make([]byte, 17)...)} {
		if got, err := Text(broken); !errors.Is(err, ErrPacked) {
			t.Errorf("%v became %q, %v", broken, got, err)
		}
	}
}

func BenchmarkRecord(b *testing.B) {
	record := []byte(page)
	packed := AppendRecord(nil, record, nil, beside)
	b.Run("pack", func(b *testing.B) {
		for b.Loop() {
			packed = AppendRecord(packed[:0], record, nil, beside)
		}
	})
	b.Run("unpack", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := Record(packed, beside); err != nil {
				b.Fatal(err)
			}
		}
	})
}

const sale = `{"orderId":"order-00000073","orderStatus":0,"createdAt":"2026-11-22T08:25:32.586Z","currency":"BRL","totalMinor":25000,` +
	`"updatedAt":"2026-11-22T08:25:32.586Z","number":73,"shippingMinor":2000,"paymentMethod":1,"installments":3,"provinceCode":"SP",` +
	`"countryCode":"BR","userId":"d084054d-ed01-526e-bc82-0f515c1c540b","source":0,` +
	`"emailKey":"k1:sz2d4n44Jv0ytSPAfZJjoUQSM8tCFy2vtM6eYhcs_z0","phoneKey":"k1:dokvYI8HWjGTi02RXIpFVoXDJcikq2Yq_fj0NuoP7QU",` +
	`"customerKey":"k1:dUA62Z15BPFPEmFAdIOTDH_Pnu2yK_kXPD5Rd8-Y_9g","items":[{"itemId":"1","productId":"vestido",` +
	`"variantId":"vestido-m","quantity":1,"price":"230.00"}]}`

func TestEveryOrderIsReadBackExactly(t *testing.T) {
	t.Parallel()
	f := func(order string) []byte {
		t.Helper()
		packed := AppendOrder([]byte("x"), []byte(order))[1:]
		if got, err := Order(packed); err != nil || string(got) != order {
			t.Fatalf("%q became %q, %v", order, got, err)
		}
		return packed
	}
	if n := len(f(sale)); n > 210 {
		t.Errorf("%d of %d bytes", n, len(sale))
	} else {
		t.Logf("%d of %d bytes", n, len(sale))
	}
	f("")
	f("{}")
	f(page)
	f(strings.ToUpper(sale))
	f(strings.Repeat(sale, 200))
	f(strings.ReplaceAll(sale, ".586Z", "-03:00"))
	f(strings.ReplaceAll(sale, "73", "null"))
	r := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		var b strings.Builder
		for range r.IntN(20) {
			from := r.IntN(len(sale))
			b.WriteString(sale[from : from+r.IntN(len(sale)-from)])
			b.WriteString(orderPhrases.phrases[r.IntN(len(orderPhrases.phrases))])
			b.WriteByte(byte(r.IntN(256)))
		}
		f(b.String())
	}
}

func TestBrokenOrdersAreErrors(t *testing.T) {
	t.Parallel()
	for _, packed := range [][]byte{nil, {}, {plainRecord, 0, 'a'}, {plainOrder, 5, 'a'}, {plainOrder, uuidToken},
		{plainOrder, besideToken + 4}, {plainOrder, 255}} {
		if got, err := Order(packed); !errors.Is(err, ErrPacked) {
			t.Errorf("%v became %q, %v", packed, got, err)
		}
	}
	if _, _, err := Record(AppendOrder(nil, []byte(sale)), beside); !errors.Is(err, ErrPacked) {
		t.Errorf("an order is read as a record: %v", err)
	}
}

// What is stored names these by their places too.
func TestPhrasesOfOrdersKeepTheirPlaces(t *testing.T) {
	t.Parallel()
	list := orderPhrases.phrases
	if len(list) > 256-phraseTokens {
		t.Fatalf("%d phrases, there is room for %d", len(list), 256-phraseTokens)
	}
	known := map[string]bool{}
	for _, p := range list {
		if len(p) < prefixLength || known[p] {
			t.Errorf("%q is too short, or there twice", p)
		}
		known[p] = true
	}
	const pinned = "c58c4fcac967ed26d0313c199d6e17576faca8babd178abfe85259146aebf164"
	if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(list, "\n")))); sum != pinned {
		t.Errorf("the phrases are %s: what is stored cannot be read. Only a new form of orders may have others", sum)
	}
}
