package edge

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/docs"
)

// newSchema is what GET /v1/schema.json serves: the file of the documentation.
func newSchema() *asset {
	sum := sha256.Sum256(docs.EventSchema)
	return &asset{
		contentType: "application/schema+json", // JSON Schema 2020-12 core, 14.1
		cache:       cacheFor("schema.json"),
		tag:         hex.EncodeToString(sum[:8]),
		encoded: map[string][]byte{
			"": docs.EventSchema,
			// the best holds 32 MiB of memory
			"br":   fasthttp.AppendBrotliBytesLevel(nil, docs.EventSchema, fasthttp.CompressBrotliDefaultCompression),
			"gzip": fasthttp.AppendGzipBytesLevel(nil, docs.EventSchema, fasthttp.CompressBestCompression),
		},
	}
}
