package guard

import (
	"bytes"
	"compress/gzip"
	stdzlib "compress/zlib"
	"crypto/rand"
	"errors"
	"io"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
)

// encodings are those that the edge takes, each with a writer of it.
var encodings = map[string]func(w io.Writer) io.WriteCloser{
	"gzip":    func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	"deflate": func(w io.Writer) io.WriteCloser { return stdzlib.NewWriter(w) },
	"bare": func(w io.Writer) io.WriteCloser {
		writer, err := flate.NewWriter(w, flate.DefaultCompression)
		if err != nil {
			panic(err) // a level that exists
		}
		return writer
	},
	"br": func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
	"zstd": func(w io.Writer) io.WriteCloser {
		writer, err := zstd.NewWriter(w)
		if err != nil {
			panic(err) // options that exist
		}
		return writer
	},
}

func deflated(t testing.TB, encoding, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := encodings[encoding](&out)
	_, err := io.WriteString(w, text)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// FuzzInflate holds that no body panics, that none becomes longer than it may,
// that what the standard library reads of gzip and zlib, and an untouched decoder of
// brotli, is what we read, and that
// a decoder which met garbage reads the next body right.
func FuzzInflate(f *testing.F) {
	const limit = 8 << 10
	sound := `{"event":"PAGE_VIEW"}`
	for encoding := range encodings {
		for _, text := range []string{"", sound, strings.Repeat("a", limit), strings.Repeat("a", limit+1), strings.Repeat("\x00", 100*limit)} {
			body := deflated(f, encoding, text)
			f.Add(body)
			f.Add(body[:len(body)/2])
			f.Add(append(slices.Clone(body), body...))
		}
	}
	i := NewInflater(limit)
	f.Fuzz(func(t *testing.T, body []byte) {
		most := min(limit, maxRatio*len(body))
		for _, encoding := range []string{"gzip", "deflate", "br", "zstd", "identity"} {
			var into bytes.Buffer
			text, err := i.Inflate(encoding, body, &into)
			if err == nil && (len(text) > limit || encoding != "identity" && len(text) > most) {
				t.Errorf("%s: %d bytes", encoding, len(text))
			}
			if into.Cap() > 4*limit+bytes.MinRead {
				t.Errorf("%s: a buffer of %d bytes for at most %d", encoding, into.Cap(), limit)
			}
			var reference io.Reader
			var refused error
			switch encoding {
			case "gzip":
				reference, refused = gzip.NewReader(bytes.NewReader(body))
			case "deflate":
				if reference, refused = stdzlib.NewReader(bytes.NewReader(body)); refused != nil {
					continue // a bare stream
				}
			case "br": // we read it with a smaller window
				reference = brotli.NewReader(bytes.NewReader(body))
			default:
				continue
			}
			var want []byte
			if refused == nil {
				want, refused = io.ReadAll(io.LimitReader(reference, int64(most)+1))
			}
			if (refused == nil && len(want) <= most) != (err == nil) || err == nil && string(want) != text {
				t.Errorf("%s of %q: %q, %v; want %q, %v", encoding, body, text, err, want, refused)
			}
		}
		for encoding := range encodings {
			var into bytes.Buffer
			if text, err := i.Inflate(strings.Replace(encoding, "bare", "deflate", 1), deflated(t, encoding, sound), &into); err != nil ||
				text != sound {
				t.Fatalf("%s after %q: %q, %v", encoding, body, text, err)
			}
		}
	})
}

// Whatever an encoding makes of a few bytes, no more of it is read than 100 times
// their number, and no more than a body may be long.
func TestInflationIsBounded(t *testing.T) {
	const limit = 1 << 20
	inflate := NewInflater(limit)
	f := func(encoding, text string, want error) {
		t.Helper()
		body := deflated(t, encoding, text)
		var into bytes.Buffer
		got, err := inflate.Inflate(encoding, body, &into)
		if !errors.Is(err, want) || want == nil && (err != nil || got != text) {
			t.Errorf("%s of %d bytes in %d: %v, want %v", encoding, len(text), len(body), err, want)
		}
		if most := min(limit, maxRatio*len(body)); into.Len() > most+1 {
			t.Errorf("%s: %d bytes in %d were read, %d are allowed", encoding, into.Len(), len(body), most)
		}
	}
	random := make([]byte, limit)
	for i := range random {
		random[i] = byte(mathrand.Uint32())
	}
	many := ""
	for range 500 {
		many += `{"event":"PAGE_VIEW","eventId":"` + rand.Text() + `"}`
	}
	for _, encoding := range []string{"gzip", "deflate", "br", "zstd"} {
		f(encoding, strings.Repeat(" ", 200_000), ErrTooDense)
		f(encoding, many, nil)
		f(encoding, string(random[:limit-50_000])+strings.Repeat(" ", 50_000), nil)
		f(encoding, string(random[:limit-50_000])+strings.Repeat(" ", 50_001), ErrTooLarge)
	}
}

// A brotli stream says its window in its first bits. A smaller one reads the same as
// long as it is not smaller than the text.
func TestABrotliStreamGetsTheWindowThatItNeeds(t *testing.T) {
	f := func(bits, limit, want int) {
		t.Helper()
		if got := smallWindow(0xA1|byte(bits-17)<<1, limit); got != 0xA1|byte(want-17)<<1 {
			t.Errorf("%d bits for %d bytes: %08b", bits, limit, got)
		}
	}
	f(24, 1<<20, 21)
	f(24, 1<<20-16, 21)
	f(24, 1<<20-17, 20)
	f(22, 1300, 18)
	f(18, 1<<20, 18)
	f(20, 1<<20, 20)
	for _, first := range []byte{0x00, 0xF0, 0x01, 0x11, 0x71} { // 16 bits, 17, 10 to 15, or none at all
		if got := smallWindow(first, 1); got != first {
			t.Errorf("%08b becomes %08b", first, got)
		}
	}
	var ids strings.Builder
	for ids.Len() < 900_000 {
		ids.WriteString(rand.Text())
	}
	text := ids.String() + ids.String()[:50_000] // copied from far away
	for _, length := range []int{1, 1000, 300_000, 950_000} {
		var body, into bytes.Buffer
		w := brotli.NewWriterOptions(&body, brotli.WriterOptions{Quality: 5, LGWin: 24})
		if _, err := w.Write([]byte(text[len(text)-length:])); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		sent := bytes.Clone(body.Bytes())
		if got, err := NewInflater(1<<20).Inflate("br", body.Bytes(), &into); err != nil || got != text[len(text)-length:] {
			t.Errorf("%d bytes: %v", length, err)
		}
		if !bytes.Equal(sent, body.Bytes()) {
			t.Errorf("%d bytes: the body is another afterwards", length)
		}
	}
}
