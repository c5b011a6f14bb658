package spreadsheet

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Bounds of what is inside a workbook (ECMA-376). A sheet of MaxLines with every cell used stays below them.
const (
	maxInflated = 16 << 20  // bytes of all parts that are read, together
	maxToken    = 256 << 10 // bytes of one tag or one text; Excel's longest text is 32,767 characters
	maxDepth    = 32        // of tags
	maxStrings  = 400_000   // that cells share
	maxStyles   = 65_536    // Excel's own bound
	maxRow      = 1 << 20   // of a sheet, in Excel
	maxSheets   = 255       // that are listed
	maxName     = 100       // letters of a sheet's name: Google's bound, Excel's is 31
)

// errDamaged says that a workbook is not what its format says.
var errDamaged = refused("import.damaged")

// workbook is an .xlsx file that is read as a stream: nothing but the strings that cells share, the styles and the text
// that is made of one sheet is kept.
type workbook struct {
	parts    []*zip.File
	left     int64  // how many bytes may still be inflated
	point    string // before decimals
	sheets   []sheetOf
	date1904 bool // days are counted from 1904
	strings  []string
	formats  []format // by the number of a cell's style
}

// sheetOf is a visible sheet: its name, and the part that has its cells.
type sheetOf struct{ name, part string }

// openWorkbook reads the list of the visible sheets, of which there is one at least.
func openWorkbook(raw []byte) (b *workbook, shared relations, err error) {
	archive, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return nil, nil, errDamaged
	}
	b = &workbook{parts: archive.File, left: maxInflated}
	root, err := b.related("")
	if err != nil {
		return nil, nil, err
	}
	book := root.ofKind("officeDocument")
	if b.part("mimetype") != nil { // OpenDocument begins with it
		return nil, nil, refused("import.opendocument")
	}
	if b.part(book) == nil || !strings.HasSuffix(book, ".xml") {
		return nil, nil, refused("import.other_kind")
	}
	if shared, err = b.related(book); err != nil {
		return nil, nil, err
	}
	return b, shared, b.readBook(book, shared)
}

// readShared reads what the cells of all sheets share.
func (b *workbook) readShared(related relations) (err error) {
	if styles := related.ofKind("styles"); styles != "" {
		err = b.readStyles(styles)
	}
	if texts := related.ofKind("sharedStrings"); texts != "" && err == nil {
		err = b.readStrings(texts)
	}
	return err
}

// named is the visible sheet of a name, in small or capital letters; without one, the first.
func (b *workbook) named(name string) (sheetOf, error) {
	at := slices.IndexFunc(b.sheets, func(s sheetOf) bool { return name == "" || strings.EqualFold(s.name, name) })
	if at < 0 {
		return sheetOf{}, refused("import.unknown_sheet", shortened(name))
	}
	return b.sheets[at], nil
}

// shortened is a name as far as a sheet's may be long.
func shortened(name string) string {
	if letters := []rune(name); len(letters) > maxName {
		return string(letters[:maxName])
	}
	return name
}

// relation is a part that another one names.
type relation struct{ id, kind, part string }

type relations []relation

func (r relations) ofKind(kind string) string {
	for _, one := range r {
		if one.kind == kind {
			return one.part
		}
	}
	return ""
}

// related are the parts that a part names; "" is the file itself.
func (b *workbook) related(part string) (list relations, err error) {
	dir, base := path.Split(part)
	name := dir + "_rels/" + base + ".rels"
	if b.part(name) == nil {
		return nil, nil
	}
	err = b.walk(name, func(tag string, get attributes) error {
		if tag == "Relationship" {
			target := get("Target")
			if !strings.HasPrefix(target, "/") {
				target = dir + target
			}
			list = append(list, relation{get("Id"), path.Base(get("Type")), strings.TrimPrefix(path.Clean("/"+target), "/")})
		}
		return nil
	}, nil)
	return list, err
}

// readBook reads the list of the visible sheets.
func (b *workbook) readBook(part string, related relations) error {
	err := b.walk(part, func(tag string, get attributes) error {
		switch {
		case tag == "workbookPr":
			b.date1904 = get("date1904") == "1" || get("date1904") == "true"
		case tag == "sheet" && (get("state") == "" || get("state") == "visible"):
			for _, one := range related {
				if one.id == get("id") && one.kind == "worksheet" { // a sheet of a chart has no cells
					b.sheets = append(b.sheets, sheetOf{shortened(get("name")), one.part})
				}
			}
		}
		if len(b.sheets) > maxSheets {
			return refused("import.many_sheets", int64(maxSheets))
		}
		return nil
	}, nil)
	if err == nil && len(b.sheets) == 0 {
		err = refused("import.no_sheet")
	}
	return err
}

// readStrings reads the texts that cells share: of each its pieces, without how it is spoken.
func (b *workbook) readStrings(part string) error {
	text, spoken := "", false
	return b.walk(part, func(tag string, _ attributes) error {
		switch tag {
		case "si":
			text = ""
		case "rPh":
			spoken = true
		}
		return nil
	}, func(tag, piece string) error {
		switch {
		case tag == "rPh":
			spoken = false
		case tag == "t" && !spoken:
			text += piece
		case tag == "si":
			b.strings = append(b.strings, unescaped(text))
		}
		if len(text) > maxToken || len(b.strings) > maxStrings {
			return refused("import.inflated")
		}
		return nil
	})
}

// readStyles reads how the cells' numbers are shown.
func (b *workbook) readStyles(part string) error {
	codes, inCells := map[string]string{}, false
	return b.walk(part, func(tag string, get attributes) error {
		switch {
		case tag == "numFmt":
			codes[get("numFmtId")] = get("formatCode")
		case tag == "cellXfs":
			inCells = true
		case tag == "xf" && inCells:
			b.formats = append(b.formats, formatOf(get("numFmtId"), codes))
		}
		if len(codes) > maxStyles || len(b.formats) > maxStyles {
			return errDamaged
		}
		return nil
	}, func(tag, _ string) error {
		inCells = inCells && tag != "cellXfs"
		return nil
	})
}

// unescaped replaces _xHHHH_, by which a workbook writes what XML cannot; Excel's own line ends are x000D.
func unescaped(text string) string {
	for from := 0; ; {
		at := strings.Index(text[from:], "_x")
		if at < 0 {
			return text
		}
		at += from
		from = at + 2
		if at+7 > len(text) || text[at+6] != '_' {
			continue
		}
		if code, err := strconv.ParseUint(text[at+2:at+6], 16, 16); err == nil && code != 0 {
			piece := string(rune(code))
			if code == '\r' {
				piece = ""
			}
			text, from = text[:at]+piece+text[at+7:], at+len(piece)
		}
	}
}

func (b *workbook) part(name string) *zip.File {
	for _, f := range b.parts {
		if strings.EqualFold(f.Name, name) {
			return f
		}
	}
	return nil
}

// attributes returns the value of an attribute, by its name without a prefix.
type attributes func(name string) string

// walk tells of a part's tags: begin of each, and end with the text since the last tag. Neither keeps what is told. It
// inflates no more than is left, and refuses what the decoder would keep much of: long tags and texts, and deep nesting.
func (b *workbook) walk(name string, begin func(tag string, get attributes) error, end func(tag, text string) error) error {
	f := b.part(name)
	switch {
	case f == nil:
		return errDamaged
	case f.UncompressedSize64 > uint64(b.left):
		return refused("import.inflated")
	}
	content, err := f.Open()
	if err != nil {
		return errDamaged
	}
	defer content.Close()
	source := &bounded{from: content, left: &b.left}
	decoder := xml.NewDecoder(source)
	var text strings.Builder
	for depth := 0; depth <= maxDepth; {
		source.token = maxToken
		token, err := decoder.Token()
		var told error
		switch t := token.(type) {
		case xml.StartElement:
			depth++
			text.Reset()
			told = begin(t.Name.Local, func(name string) string {
				for _, a := range t.Attr {
					if a.Name.Local == name {
						return a.Value
					}
				}
				return ""
			})
		case xml.CharData:
			text.Write(t)
		case xml.EndElement:
			depth--
			if end != nil {
				told = end(t.Name.Local, text.String())
			}
			text.Reset()
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errInflated):
			return refused("import.inflated")
		case err != nil:
			return errDamaged
		case told != nil:
			return told
		}
	}
	return errDamaged
}

var (
	errInflated = errors.New("spreadsheet: the workbook is larger than it may be")
	errToken    = errors.New("spreadsheet: a tag or a text of the workbook is longer than it may be")
)

// bounded reads no more than is left of all parts and of one token. A decoder reads ahead by less than maxToken.
type bounded struct {
	from  io.Reader
	left  *int64
	token int
}

func (r *bounded) Read(p []byte) (int, error) {
	switch {
	case *r.left <= 0:
		return 0, errInflated
	case r.token <= 0:
		return 0, errToken
	}
	n, err := r.from.Read(p[:min(int64(len(p)), *r.left)])
	*r.left -= int64(n)
	r.token -= n
	return n, err
}
