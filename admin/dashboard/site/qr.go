package site

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/boombuler/barcode/qr"
)

// SendQR answers with a text as a QR code, an SVG.
func (s *Site) SendQR(w http.ResponseWriter, r *http.Request, text string) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		s.Unavailable(w, r, err)
		return
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
	w.Header().Set("Content-Type", "image/svg+xml")
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[1]d" width="480" height="480" `+
		`shape-rendering="crispEdges"><rect width="%[1]d" height="%[1]d" fill="#fff"/><path d="%[2]s"/></svg>`,
		size+2*quiet, path.String())
}
