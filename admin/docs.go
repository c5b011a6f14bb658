package admin

import (
	_ "embed"
	"fmt"

	"github.com/swaggest/swgui/v5/static"
)

// The reference page: our own page and start-up script around Swagger UI,
// which comes embedded in a Go module. Nothing is fetched from another host.
var (
	//go:embed openapi/docs.html
	docsPage []byte
	//go:embed openapi/docs.js
	docsScript []byte
	//go:embed openapi/docs.css
	docsStyle []byte
)

// docsPolicy lets the page load what this server has and nothing else. Swagger
// UI sets style attributes and draws icons from data URLs.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// newReference returns the files of the API's reference by their paths below a base path.
func newReference() (map[string]*document, error) {
	spec, err := openapiJSON(openapiText)
	if err != nil {
		return nil, err
	}
	files := map[string]*document{
		"/openapi.json":  newDocument(spec, "application/json; charset=utf-8"),
		"/docs":          newDocument(docsPage, "text/html; charset=utf-8"),
		"/docs/docs.js":  newDocument(docsScript, "text/javascript; charset=utf-8"),
		"/docs/docs.css": newDocument(docsStyle, "text/css; charset=utf-8"),
	}
	for name, contentType := range map[string]string{"swagger-ui-bundle.js": "text/javascript; charset=utf-8",
		"swagger-ui.css": "text/css; charset=utf-8"} {
		body, err := static.FS.ReadFile(name + ".gz")
		if err != nil {
			return nil, fmt.Errorf("embedded Swagger UI: %w", err)
		}
		file := newDocument(body, contentType)
		file.encoding = "gzip" // every browser accepts it, and only browsers open the page
		files["/docs/"+name] = file
	}
	files["/docs"].policy = docsPolicy
	return files, nil
}
