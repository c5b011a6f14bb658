package core_test

import (
	"strings"
	"testing"

	"github.com/tributary-io/tributary/sdk/core"
)

// BenchmarkParseAndAppend is the edge's part of the core: a batch of 100 real
// looking events in, their canonical fields out.
func BenchmarkParseAndAppend(b *testing.B) {
	event := `{"eventId":"` + id + `","event":"PRODUCT_VIEW","timestamp":"2019-10-01T00:00:01Z","visitorId":"550050854",` +
		`"payload":{"items":[{"item_id":"1307067","item_quantity":1}]},` +
		`"context":{"page":{"url":"https://loja.example.com/p/1307067?utm_source=influencer&utm_medium=link&utm_campaign=Ana+Prado"}}}`
	body := `{"companyId":"loja","events":[` + strings.Repeat(event+",", 99) + event + `]}`
	var out []byte
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		batch, v := core.ParseBatch(body, "", core.Options{})
		if v != nil {
			b.Fatal(v)
		}
		for i := range batch.Items {
			out = core.AppendFields(out[:0], &batch.Items[i].Event)
		}
	}
}
