package edge

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/internal/lenient"
)

// headers are the fields of a request by which it is judged, read in one pass: to
// look each up by its name costs more. They are parts of fasthttp's memory and good
// while the request is handled. Of a field that comes twice the first counts.
type headers struct {
	requestID, origin, authorization, contentEncoding []byte
	fetchSite, fetchDest, storageAccess               []byte // Sec-Fetch-…
	accept                                            []byte
	gpc, dnt                                          []byte
	fetchMode                                         bool // Sec-Fetch-Mode came
	fetchOther                                        bool // … or any other of that prefix
	prefetch                                          bool // a browser loads a page that its user has not opened

	handling string // as Prefer asks (lenient.Handling)
}

func (h *headers) read(from *fasthttp.RequestHeader) {
	*h = headers{}
	for name, value := range from.All() {
		if field := h.field(name); field != nil {
			if *field == nil {
				*field = value
			}
			continue
		}
		switch string(name) {
		case "Sec-Purpose", "Purpose", "X-Purpose", "X-Moz":
			h.prefetch = h.prefetch || saysPrefetch(value)
		case "Sec-Fetch-Mode":
			h.fetchMode = true
		case "Prefer":
			if h.handling == "" {
				h.handling = lenient.Handling(string(value))
			}
		default:
			h.fetchOther = h.fetchOther || bytes.HasPrefix(name, fetchPrefix)
		}
	}
}

// fetchPrefix begins the names of Fetch Metadata's headers (W3C).
var fetchPrefix = []byte("Sec-Fetch-")

// field is where the value of a header goes, nil for any other header. fasthttp
// writes names in this form.
func (h *headers) field(name []byte) *[]byte {
	switch string(name) {
	case "X-Request-Id":
		return &h.requestID
	case "Origin":
		return &h.origin
	case "Authorization":
		return &h.authorization
	case "Content-Encoding":
		return &h.contentEncoding
	case "Sec-Fetch-Site":
		return &h.fetchSite
	case "Sec-Fetch-Dest":
		return &h.fetchDest
	case "Sec-Fetch-Storage-Access":
		return &h.storageAccess
	case "Accept":
		return &h.accept
	case "Sec-Gpc":
		return &h.gpc
	case "Dnt":
		return &h.dnt
	}
	return nil
}

func saysPrefetch(value []byte) bool {
	value = bytes.ToLower(value)
	return bytes.Contains(value, []byte("prefetch")) || bytes.Contains(value, []byte("prerender")) || bytes.Contains(value, []byte("preview"))
}

// bearer is the text of Authorization: Bearer. Other schemes belong to a proxy
// before the edge, but at Segment's routes (request.apiKey).
func (h *headers) bearer() (text string, given bool) {
	if len(h.authorization) == 0 {
		return "", false
	}
	scheme, text, _ := strings.Cut(string(h.authorization), " ")
	return strings.TrimSpace(text), strings.EqualFold(scheme, "Bearer")
}

// basic is the user's name of Authorization: Basic (RFC 7617), "" for none that can be read.
func (h *headers) basic() string {
	scheme, text, _ := strings.Cut(string(h.authorization), " ")
	if !strings.EqualFold(scheme, "Basic") {
		return ""
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(string(decoded), ":")
	return strings.TrimSpace(name)
}

// privacySignal tells whether the browser sends Global Privacy Control or Do Not Track.
func (h *headers) privacySignal() bool { return string(h.gpc) == "1" || string(h.dnt) == "1" }

// openedAsDocument tells whether a person may have opened the link: browsers say
// for what else a page makes them fetch it (a picture, a frame, a script). Those that do not
// (Safari before 16.4) ask for images first where it is a picture.
func (h *headers) openedAsDocument() bool {
	if len(h.fetchDest) == 0 {
		return !bytes.HasPrefix(h.accept, imagePrefix)
	}
	return string(h.fetchDest) == "document"
}

var imagePrefix = []byte("image/")

// fromSameSite tells whether the page that sends the request is on the edge's
// own site: only then is its cookie first-party.
func (h *headers) fromSameSite(ownHost []byte) bool {
	switch string(h.fetchSite) {
	case "same-origin", "same-site":
		return true
	case "cross-site", "none":
		return false
	}
	_, host, found := strings.Cut(string(h.origin), "://")
	return found && sameSite(host, string(ownHost))
}

// fromForeignPage tells whether a page that need not be the shop's may have sent the
// request: one of another site, or one without an origin, which any page can make. It sends
// from the buyer's network what it likes, so its network proves nothing.
func (h *headers) fromForeignPage() bool {
	return string(h.fetchSite) == "cross-site" || string(h.origin) == noOrigin
}

// fromForeignFrame tells whether the browser says that the page which sends the
// request is in a frame of a page of another site: to a server of the frame's own
// site, it says how far the frame may use its cookies only then.
func (h *headers) fromForeignFrame() bool {
	switch string(h.fetchSite) {
	case "same-origin", "same-site":
		return len(h.storageAccess) > 0
	}
	return false
}
