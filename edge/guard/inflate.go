package guard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"unsafe"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// Why a body is not inflated.
var (
	ErrTooLarge        = errors.New("guard: the body is larger than allowed")
	ErrTooDense        = errors.New("guard: the body inflates to more than maxRatio times its length")
	ErrUnknownEncoding = errors.New("guard: unknown content encoding")
)

// Inflater decompresses a request's body. Decoders are kept for reuse: each has
// buffers of tens of kilobytes. Safe for concurrent use.
type Inflater struct {
	limit                 int
	gzips, brotlis, zstds sync.Pool
}

// maxRatio is how many times its length a body may inflate to. Many small events,
// each with an id of its own, reach about 10.
const maxRatio = 100

// maxZstdWindow bounds a decoder's memory: no body needs a larger window than
// a body may be long.
const maxZstdWindow = 8 << 20

// NewInflater makes one for bodies of at most limit bytes.
func NewInflater(limit int) *Inflater {
	return &Inflater{
		limit:   limit,
		gzips:   sync.Pool{New: func() any { return new(gzip.Reader) }},
		brotlis: sync.Pool{New: func() any { return brotli.NewReader(nil) }},
	}
}

// Inflate returns the body's text: body itself, or what it writes to into. The
// text is valid until either changes, as fasthttp's buffer does after a request.
func (i *Inflater) Inflate(encoding string, body []byte, into *bytes.Buffer) (string, error) {
	switch encoding {
	case "", "identity":
		if len(body) > i.limit {
			return "", ErrTooLarge
		}
		return TextOf(body), nil
	case "gzip", "x-gzip":
		reader := i.gzips.Get().(*gzip.Reader)
		defer i.gzips.Put(reader)
		if err := reader.Reset(bytes.NewReader(body)); err != nil {
			return "", fmt.Errorf("guard: inflate gzip: %w", err)
		}
		return i.read(reader, len(body), into)
	case "deflate":
		// RFC 9110 means zlib; some senders send the bare deflate stream.
		if reader, err := zlib.NewReader(bytes.NewReader(body)); err == nil {
			return i.read(reader, len(body), into)
		}
		return i.read(flate.NewReader(bytes.NewReader(body)), len(body), into)
	case "br":
		if len(body) > 0 {
			defer func(first byte) { body[0] = first }(body[0])
			body[0] = smallWindow(body[0], i.limitOf(len(body)))
		}
		reader := i.brotlis.Get().(*brotli.Reader)
		defer i.brotlis.Put(reader)
		if err := reader.Reset(bytes.NewReader(body)); err != nil {
			return "", fmt.Errorf("guard: inflate br: %w", err)
		}
		return i.read(reader, len(body), into)
	case "zstd":
		return i.zstd(body, into)
	}
	return "", ErrUnknownEncoding
}

func (i *Inflater) zstd(body []byte, into *bytes.Buffer) (string, error) {
	reader, _ := i.zstds.Get().(*zstd.Decoder)
	if reader == nil {
		made, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return "", fmt.Errorf("guard: inflate zstd: %w", err)
		}
		reader = made
	}
	defer i.zstds.Put(reader)
	if err := reader.Reset(bytes.NewReader(body)); err != nil {
		return "", fmt.Errorf("guard: inflate zstd: %w", err)
	}
	return i.read(reader, len(body), into)
}

// limitOf is how many bytes a body of a length may inflate to.
func (i *Inflater) limitOf(length int) int {
	return min(i.limit, maxRatio*length)
}

// The windows that a brotli stream's first four bits can say: 1, and the window's
// bits minus 17 (RFC 7932, 9.1).
const minBrotliBits = 18

// TooDenseBytes is what a body that inflates too far is charged for at least: the
// smallest of these windows, which the decoder fills before we see a byte of it.
const TooDenseBytes = 1 << minBrotliBits

// smallWindow is the first byte of a brotli stream with the smallest window that
// makes no difference for what the stream may inflate to. The decoder fills the
// whole window before it hands out anything, so a few bytes would cost as much as
// 16 MiB.
func smallWindow(first byte, limit int) byte {
	if first&1 == 0 || first&0xE == 0 { // 64 KiB, or less than that or 128 KiB in another form
		return first
	}
	bits := 17 + int(first>>1&7)
	for bits > minBrotliBits && 1<<(bits-1)-16 > limit {
		bits--
	}
	return first&^0xE | byte(bits-17)<<1
}

// read inflates a body of length bytes, no further than it may go.
func (i *Inflater) read(from io.Reader, length int, into *bytes.Buffer) (string, error) {
	limit := i.limitOf(length)
	n, err := into.ReadFrom(io.LimitReader(from, int64(limit)+1))
	if err != nil {
		return "", fmt.Errorf("guard: inflate the body: %w", err)
	}
	switch {
	case n <= int64(limit):
		return TextOf(into.Bytes()), nil
	case limit < i.limit:
		return "", ErrTooDense
	}
	return "", ErrTooLarge
}

// TextOf is a text in the memory of b, which must not change while it is used.
func TextOf(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // a copy of each body would be garbage at once
}
