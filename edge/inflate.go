package edge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

var (
	errTooLarge        = errors.New("edge: the body is larger than allowed")
	errUnknownEncoding = errors.New("edge: unknown content encoding")
)

// inflater decompresses a request's body. Decoders are kept for reuse: each has
// buffers of tens of kilobytes. Safe for concurrent use.
type inflater struct {
	limit                 int
	gzips, brotlis, zstds sync.Pool
}

// maxZstdWindow bounds a decoder's memory: no body needs a larger window than
// a body may be long.
const maxZstdWindow = 8 << 20

func newInflater(limit int) *inflater {
	return &inflater{
		limit:   limit,
		gzips:   sync.Pool{New: func() any { return new(gzip.Reader) }},
		brotlis: sync.Pool{New: func() any { return brotli.NewReader(nil) }},
	}
}

// inflate returns the body's text in memory of its own: fasthttp reuses the
// request's buffer, and events are parts of the text that they were parsed from.
func (i *inflater) inflate(encoding string, body []byte) (string, error) {
	switch encoding {
	case "", "identity":
		if len(body) > i.limit {
			return "", errTooLarge
		}
		return string(body), nil
	case "gzip", "x-gzip":
		reader := i.gzips.Get().(*gzip.Reader)
		defer i.gzips.Put(reader)
		if err := reader.Reset(bytes.NewReader(body)); err != nil {
			return "", fmt.Errorf("edge: inflate gzip: %w", err)
		}
		return i.read(reader)
	case "deflate":
		// RFC 9110 means zlib; some senders send the bare deflate stream.
		if reader, err := zlib.NewReader(bytes.NewReader(body)); err == nil {
			return i.read(reader)
		}
		return i.read(flate.NewReader(bytes.NewReader(body)))
	case "br":
		reader := i.brotlis.Get().(*brotli.Reader)
		defer i.brotlis.Put(reader)
		if err := reader.Reset(bytes.NewReader(body)); err != nil {
			return "", fmt.Errorf("edge: inflate br: %w", err)
		}
		return i.read(reader)
	case "zstd":
		return i.zstd(body)
	}
	return "", errUnknownEncoding
}

func (i *inflater) zstd(body []byte) (string, error) {
	reader, _ := i.zstds.Get().(*zstd.Decoder)
	if reader == nil {
		made, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return "", fmt.Errorf("edge: inflate zstd: %w", err)
		}
		reader = made
	}
	defer i.zstds.Put(reader)
	if err := reader.Reset(bytes.NewReader(body)); err != nil {
		return "", fmt.Errorf("edge: inflate zstd: %w", err)
	}
	return i.read(reader)
}

func (i *inflater) read(from io.Reader) (string, error) {
	var text bytes.Buffer
	n, err := text.ReadFrom(io.LimitReader(from, int64(i.limit)+1))
	if err != nil {
		return "", fmt.Errorf("edge: inflate the body: %w", err)
	}
	if n > int64(i.limit) {
		return "", errTooLarge
	}
	return text.String(), nil
}
