package site

import (
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/boombuler/barcode/qr"
)

// SendQR answers with a text as a QR code, an SVG.
func (s *Site) SendQR(w http.ResponseWriter, r *http.Request, text string) {
	picture, err := QR(text, 480)
	if err != nil {
		s.Unavailable(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	_, _ = w.Write([]byte(picture))
}

// QR is a text as a QR code, an SVG of so many CSS pixels: within a page it has no address, which browsers and servers keep.
func QR(text string, pixels int) (template.HTML, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return "", err
	}
	const quiet = 4 // modules around the code (ISO/IEC 18004)
	size := code.Bounds().Dx()
	var path strings.Builder
	for y := range size {
		for x := range size {
			if dark, _, _, _ := code.At(x, y).RGBA(); dark == 0 {
				fmt.Fprintf(&path, "M%d %dh1v1h-1z", x+quiet, y+quiet)
			}
		}
	}
	picture := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[1]d" width="%[3]d" height="%[3]d" `+
		`shape-rendering="crispEdges"><rect width="%[1]d" height="%[1]d" fill="#fff"/><path d="%[2]s"/></svg>`,
		size+2*quiet, path.String(), pixels)
	return template.HTML(picture), nil //nolint:gosec // it is made of numbers
}
