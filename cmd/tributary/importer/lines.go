package importer

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// maxLine bounds a line; both services take bodies of 1 MiB at most.
const maxLine = 900_000

// line is one line of the file, numbered from 1. Its text is nil if the line is
// longer than maxLine.
type line struct {
	number int64
	text   []byte
}

// source is the file being read.
type source struct {
	name    string // for messages
	size    int64  // bytes on disk; 0 for standard input
	digest  string // see identify; empty for standard input
	reader  *bufio.Reader
	counter *countingReader
	closers []io.Closer
	number  int64
}

// countingReader counts the bytes taken from the file, before decompression.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// open opens a file, or stdin for "-". It decompresses what has a name ending in
// .gz or begins with gzip's two bytes.
func open(path string, stdin io.Reader) (*source, error) {
	s := &source{name: path}
	raw := stdin
	if path == "-" {
		s.name = "standard input"
	} else {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		s.closers = append(s.closers, f)
		info, err := f.Stat()
		if err == nil && info.IsDir() {
			err = fmt.Errorf("%s is a directory", path)
		}
		if err == nil {
			s.size = info.Size()
			s.digest, err = identify(f, info)
		}
		if err != nil {
			s.close()
			return nil, err
		}
		raw = f
	}
	s.counter = &countingReader{r: raw}
	s.reader = bufio.NewReaderSize(s.counter, 256<<10)
	magic, _ := s.reader.Peek(2) // a shorter file is not gzip
	if strings.HasSuffix(path, ".gz") || bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		inflated, err := gzip.NewReader(s.reader)
		if err != nil {
			s.close()
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		s.closers = append(s.closers, inflated)
		s.reader = bufio.NewReaderSize(inflated, 256<<10)
	}
	return s, nil
}

// identify returns a digest by which a file is recognized without reading all of
// it: of its size, its modification time, its first and its last 64 KiB.
func identify(f *os.File, info os.FileInfo) (string, error) {
	const part = 64 << 10
	hash := sha256.New()
	fmt.Fprintf(hash, "%d %d\n", info.Size(), info.ModTime().UnixNano())
	for _, at := range []int64{0, max(0, info.Size()-part)} {
		if _, err := io.Copy(hash, io.NewSectionReader(f, at, part)); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

func (s *source) close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		_ = s.closers[i].Close() // it was only read
	}
}

// offset returns how many bytes of the file have been read, before decompression.
func (s *source) offset() int64 { return s.counter.n }

// next returns the next line that is not blank, or io.EOF. The caller may keep
// the text.
func (s *source) next() (line, error) {
	for {
		text, err := s.readLine()
		if err != nil {
			return line{}, err
		}
		if text == nil || len(bytes.TrimSpace(text)) > 0 {
			return line{s.number, bytes.TrimSpace(text)}, nil
		}
	}
}

// readLine reads one line. It returns nil for one that is longer than maxLine.
func (s *source) readLine() ([]byte, error) {
	text, tooLong := []byte{}, false
	for {
		piece, err := s.reader.ReadSlice('\n')
		if !tooLong && len(text)+len(piece) > maxLine {
			text, tooLong = nil, true
		}
		if !tooLong {
			text = append(text, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && (len(text) > 0 || tooLong): // the last line has no newline
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		case err != nil:
			return nil, fmt.Errorf("read %s after line %d: %w", s.name, s.number, err)
		}
		s.number++
		if s.number == 1 {
			text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // a byte-order mark
		}
		return text, nil
	}
}
