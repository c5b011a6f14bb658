package edge

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
)

// maxAssets bounds what the SDK's files may take in memory, in bytes.
const maxAssets = 32 << 20

// asset is one file of the browser SDK, in the encodings it was built in.
type asset struct {
	contentType string
	cache       string
	tag         string            // of its plain bytes
	encoded     map[string][]byte // by content coding; "" is plain
}

// hashedName is a name with a build's hash in it: the file of such a name never changes.
var hashedName = regexp.MustCompile(`[.\-](?:[0-9a-f]{8,64}|[0-9A-Z]{8})\.`)

// loadAssets reads every file once. A ".br" or ".gz" beside a file is that file, precompressed.
func loadAssets(files fs.FS) (map[string]*asset, error) {
	assets := map[string]*asset{}
	if files == nil {
		return assets, nil
	}
	total := 0
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			return err
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if total += len(data); total > maxAssets {
			return fmt.Errorf("the files take more than %d bytes", maxAssets)
		}
		plain, coding := name, ""
		for suffix, of := range map[string]string{".br": "br", ".gz": "gzip"} {
			if strings.HasSuffix(name, suffix) {
				plain, coding = strings.TrimSuffix(name, suffix), of
			}
		}
		a := assets[plain]
		if a == nil {
			a = &asset{contentType: contentType(plain), cache: cacheFor(plain), encoded: map[string][]byte{}}
			assets[plain] = a
		}
		a.encoded[coding] = data
		if coding == "" {
			sum := sha256.Sum256(data)
			a.tag = hex.EncodeToString(sum[:8])
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("edge: read the SDK's files: %w", err)
	}
	for name, a := range assets {
		if a.encoded[""] == nil {
			return nil, fmt.Errorf("edge: the SDK's file %s is there only compressed", name)
		}
	}
	return assets, nil
}

func contentType(name string) string {
	switch path.Ext(name) {
	case ".js", ".mjs", ".cjs":
		return "text/javascript; charset=utf-8"
	case ".wasm":
		return "application/wasm"
	case ".json", ".map":
		return "application/json"
	case ".ts", ".cts", ".mts":
		return "text/plain; charset=utf-8"
	}
	if known := mime.TypeByExtension(path.Ext(name)); known != "" {
		return known
	}
	return "application/octet-stream"
}

func cacheFor(name string) string {
	if hashedName.MatchString(path.Base(name)) {
		return "public, max-age=31536000, immutable"
	}
	return "public, max-age=300, stale-while-revalidate=3600"
}

// asset is GET /sdk/v1/<file>.
func (s *Server) asset(ctx *fasthttp.RequestCtx, name string) { s.serveAsset(ctx, s.assets[name]) }

// serveAsset answers with a file in the best coding that the client takes, or with
// 304 where the client has it; nil is 404. Any page may load it.
func (s *Server) serveAsset(ctx *fasthttp.RequestCtx, a *asset) {
	h := &ctx.Response.Header
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	if a == nil {
		s.refuse(ctx, refusedNoAsset)
		return
	}
	h.Add("Vary", "Accept-Encoding")
	h.Set("Cache-Control", a.cache)
	accepted := string(ctx.Request.Header.Peek("Accept-Encoding"))
	coding, body := "", a.encoded[""]
	for _, candidate := range []string{"br", "gzip"} {
		if data, found := a.encoded[candidate]; found && accepts(accepted, candidate) {
			coding, body = candidate, data
			break
		}
	}
	tag := `"` + a.tag
	if coding != "" {
		h.Set("Content-Encoding", coding)
		tag += "-" + coding
	}
	tag += `"`
	h.Set("ETag", tag)
	if strings.Contains(string(ctx.Request.Header.Peek("If-None-Match")), tag) {
		ctx.SetStatusCode(http.StatusNotModified)
		return
	}
	ctx.SetContentType(a.contentType)
	ctx.Response.SetBodyRaw(body) // shared by all answers; fasthttp only reads it
}

// accepts tells whether an Accept-Encoding header takes the coding.
func accepts(header, coding string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, parameters, _ := strings.Cut(part, ";")
		if !strings.EqualFold(strings.TrimSpace(name), coding) {
			continue
		}
		quality, found := strings.CutPrefix(strings.ReplaceAll(parameters, " ", ""), "q=")
		if !found {
			return true
		}
		q, err := strconv.ParseFloat(quality, 64)
		return err == nil && q > 0
	}
	return false
}
