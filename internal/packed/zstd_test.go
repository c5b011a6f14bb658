package packed

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/dict"
	"github.com/klauspost/compress/zstd"
)

// sample is one text with what its row has beside it.
type sample struct {
	text   []byte
	beside Beside
}

// cut is the text without the values that its row has: what zstd is given of it.
func (s *sample) cut() []byte {
	text := string(s.text)
	for _, value := range s.beside.texts() {
		if value != "" {
			text = strings.Replace(text, `"`+value+`"`, `""`, 1)
		}
	}
	return []byte(text)
}

// madeUp makes ids, keys and choices at random.
type madeUp struct{ *rand.Rand }

func (m madeUp) bytes(n int) []byte {
	var b []byte
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, m.Uint64())
	}
	return b[:n]
}

func (m madeUp) id() string {
	id, _ := uuid.FromBytes(m.bytes(16))
	return id.String()
}

func (m madeUp) key() string { return "k1:" + base64.RawURLEncoding.EncodeToString(m.bytes(32)) }

func (m madeUp) one(of ...string) string { return of[m.IntN(len(of))] }

func (m madeUp) at() time.Time {
	return time.UnixMilli(1_795_000_000_000 + m.Int64N(30*24*3600*1000)).UTC()
}

const instant = "2006-01-02T15:04:05.000Z"

// events are n events of a shop as the edge writes them: page with other ids, times, pages and
// browsers, of visitors who come by campaigns, searches and links.
func (m madeUp) events(n int) []sample {
	list := make([]sample, n)
	for i := range list {
		at, b := m.at(), beside
		id := fmt.Sprintf("%012x", at.UnixMilli())
		b.EventID, b.Visitor, b.Name = id[:8]+"-"+id[8:]+"-7"+m.id()[15:], m.id(), m.one("PAGE_VIEW", "PRODUCT_VIEW", "ADD_TO_CART")
		product := m.one("vestido-de-linho", "bolsa", "camiseta-basica", "chapeu", "tenis-branco")
		query := m.one("", "", "?gclid="+base64.RawURLEncoding.EncodeToString(m.bytes(30)), `?utm_source=newsletter\u0026utm_medium=email`,
			`?utm_source=influencer\u0026utm_medium=link\u0026utm_campaign=Ana+Prado\u0026utm_content=Primavera`)
		items := fmt.Sprintf(`"payload":{"items":[{"item_id":"%d","price":%d.9,"quantity":1}]},"context"`, m.IntN(1e5), m.IntN(500))
		list[i] = sample{[]byte(strings.NewReplacer(
			beside.EventID, b.EventID, beside.Visitor, b.Visitor, `"PAGE_VIEW"`, `"`+b.Name+`"`, `"context"`, m.one(`"context"`, items),
			`com/p/bolsa"`, "com"+m.one("/p/", "/products/", "/collections/")+product+query+`"`, "/p/bolsa", "/p/"+product,
			`"https://loja.example.com/"`, m.one(`"https://www.google.com/"`, `"https://l.instagram.com/"`, `"https://loja.example.com/"`),
			"iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
			m.one("Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36",
				"Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
				"iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Instagram 360.0.0.30.92"),
			"2026-11-22T03:21:53.409Z", at.Format(instant), "2026-11-22T03:21:53.559Z", at.Add(150*time.Millisecond).Format(instant),
			"44d63347-a0cf-5dc1-ab9d-a5c26c78b7a8", m.id(), "76c21c7f-5ecc-5cd4-adf1-886e8736321c", m.id(),
			"efa88e47-efb8-57c5-b417-c807acdf4445", m.id(),
			"390x844", m.one("390x844", "360x800", "1920x1080"), `"seq":6`, fmt.Sprintf(`"seq":%d`, 1+m.IntN(30)),
			"203.0.113", fmt.Sprintf("203.0.%d", m.IntN(256)),
			"k1:lATuoyV-1Y0T4RBuM9cJAilxkAD7XmV3Dvrk-nVpqss", m.key(),
		).Replace(page)), b}
	}
	return list
}

// orders are n orders as they are stored: sale with other ids, times and amounts.
func (m madeUp) orders(n int) []sample {
	list := make([]sample, n)
	for i := range list {
		list[i].text = []byte(strings.NewReplacer(
			"order-00000073", fmt.Sprint(5_000_000_000+m.Int64N(1e9)), "2026-11-22T08:25:32.586Z", m.at().Format(instant),
			"25000", fmt.Sprint(5000+m.IntN(50_000)),
			`:73,`, fmt.Sprintf(`:%d,`, m.IntN(100_000)), "2000,", fmt.Sprint(1500+m.IntN(1500), ","), `"SP"`, m.one(`"SP"`, `"RJ"`, `"MG"`, `"BA"`),
			`"provinceCode"`, m.one(`"provinceCode"`, `"discountCode":"ANA10","provinceCode"`), "230.00", fmt.Sprint(50+m.IntN(500), ".90"),
			"d084054d-ed01-526e-bc82-0f515c1c540b", m.id(), "k1:sz2d4n44Jv0ytSPAfZJjoUQSM8tCFy2vtM6eYhcs_z0", m.key(),
			"k1:dokvYI8HWjGTi02RXIpFVoXDJcikq2Yq_fj0NuoP7QU", m.key(), "k1:dUA62Z15BPFPEmFAdIOTDH_Pnu2yK_kXPD5Rd8-Y_9g", m.key(),
			`"vestido"`, fmt.Sprintf(`"%d"`, m.IntN(1e6)), `"vestido-m"`, fmt.Sprintf(`"%d"`, m.IntN(1e6)),
		).Replace(sale))
	}
	return list
}

// form is one way of packing: by text, and back.
type form struct {
	pack   func(s *sample) []byte
	unpack func(packed []byte, s *sample) error
}

// BenchmarkBesideZstd packs events and orders beside zstd with a dictionary: bytes of each, and the
// CPU time of packing and of unpacking. zstd is given the texts without what their rows have, for nothing.
func BenchmarkBesideZstd(b *testing.B) {
	m := madeUp{rand.New(rand.NewPCG(7, 8))}
	events, orders := m.events(1000), m.orders(1000)
	benchForm(b, "events/packed", events, form{
		func(s *sample) []byte { return AppendRecord(make([]byte, 0, 320), s.text, nil, s.beside) },
		func(packed []byte, s *sample) error { _, _, err := Record(packed, s.beside); return err },
	})
	benchZstd(b, "events", events, m.events(2000))
	benchForm(b, "orders/packed", orders, form{
		func(s *sample) []byte { return AppendOrder(make([]byte, 0, 320), s.text) },
		func(packed []byte, _ *sample) error { _, err := Order(packed); return err },
	})
	benchZstd(b, "orders", orders, m.orders(2000))
}

func benchZstd(b *testing.B, name string, all, learned []sample) {
	cut := make([]sample, len(all))
	for i := range all {
		cut[i].text = all[i].cut()
	}
	var texts [][]byte
	for i := range learned {
		texts = append(texts, learned[i].cut())
	}
	raw := bytes.Join(texts[:16], nil)
	for _, level := range []zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedDefault} {
		trained, err := dict.BuildZstdDict(texts, dict.Options{MaxDictSize: 16 << 10, HashBytes: 6, ZstdDictID: 1, ZstdLevel: level})
		if err != nil {
			b.Fatal(err)
		}
		benchForm(b, name+"/zstd-raw-"+level.String(), cut, zstdForm(b, level, zstd.WithEncoderDictRaw(1, raw), zstd.WithDecoderDictRaw(1, raw)))
		benchForm(b, name+"/zstd-trained-"+level.String(), cut, zstdForm(b, level, zstd.WithEncoderDict(trained), zstd.WithDecoderDicts(trained)))
	}
}

func zstdForm(b *testing.B, level zstd.EncoderLevel, e zstd.EOption, d zstd.DOption) form {
	encoder, err := zstd.NewWriter(nil, e, zstd.WithEncoderLevel(level),
		zstd.WithEncoderCRC(false), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		b.Fatal(err)
	}
	decoder, err := zstd.NewReader(nil, d, zstd.WithDecoderConcurrency(1))
	if err != nil {
		b.Fatal(err)
	}
	return form{
		func(s *sample) []byte { return encoder.EncodeAll(s.text, make([]byte, 0, 512)) },
		func(packed []byte, _ *sample) error {
			_, err := decoder.DecodeAll(packed, make([]byte, 0, 2048))
			return err
		},
	}
}

func benchForm(b *testing.B, name string, all []sample, f form) {
	bytes, packed := 0, make([][]byte, len(all))
	for i := range all {
		packed[i] = f.pack(&all[i])
		bytes += len(packed[i])
	}
	b.Run(name+"/pack", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			f.pack(&all[i%len(all)])
		}
		b.ReportMetric(float64(bytes)/float64(len(all)), "bytes")
	})
	b.Run(name+"/unpack", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if err := f.unpack(packed[i%len(all)], &all[i%len(all)]); err != nil {
				b.Fatal(err)
			}
		}
	})
}
