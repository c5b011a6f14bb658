package pathfile

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

var errLongLine = errors.New("a line is too long")

// limited reads a file and fails where much was read since used was last 0: the CSV
// reader would keep a line of any length.
type limited struct {
	in   *bufio.Reader
	used int
}

func (l *limited) Read(p []byte) (int, error) {
	if l.used > maxLineBytes {
		return 0, errLongLine
	}
	n, err := l.in.Read(p)
	l.used += n
	return n, err
}

// open returns a file without the mark that some programs put first, and what
// separates its columns: the first line tells, as it has no quoted names of ours.
func open(r io.Reader) (*limited, rune, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	start, err := in.Peek(4096)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	if bytes.HasPrefix(start, []byte{0xff, 0xfe}) || bytes.HasPrefix(start, []byte{0xfe, 0xff}) || bytes.IndexByte(start, 0) >= 0 {
		return nil, 0, errors.New("the file is no UTF-8 text: save it as CSV in UTF-8")
	}
	if mark := []byte("\ufeff"); bytes.HasPrefix(start, mark) {
		_, _ = in.Discard(len(mark))
		start = start[len(mark):]
	}
	first, _, _ := bytes.Cut(start, []byte("\n"))
	separator := ','
	if bytes.IndexByte(first, ',') < 0 {
		for _, other := range ";\t" {
			if bytes.ContainsRune(first, other) {
				separator = other
			}
		}
	}
	return &limited{in: in}, separator, nil
}
