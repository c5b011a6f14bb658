package commerce_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/commerce"
)

// An endpoint is https on port 443 at a public name: a merchant cannot let the connect service knock at other ports or inside.
func TestEndpointsAreOfTheInternet(t *testing.T) {
	t.Parallel()
	for url, fine := range map[string]bool{
		"https://erp.example.com/hook?a=b": true, "https://erp.example.com:443/": true, "https://erp.example.com:8443/": false,
		"http://erp.example.com/": false, "https://erp.example.com:22/": false, "https://127.0.0.1/": false, "https://2130706433/": false,
		"https://localhost/": false, "https://metadata.internal/": false, "https://a:b@erp.example.com/": false, "ftp://erp.example.com/": false,
		"https://[::1]/": false, "": false,
	} {
		var bad commerce.Violations
		commerce.Endpoint{Name: "ERP", URL: url, Types: commerce.EventTypes}.Check(&bad)
		if (len(bad.List) == 0) != fine {
			t.Errorf("%q: %+v", url, bad.List)
		}
	}
}

// Who receives events is told of each field.
func TestThePageNamesTheFieldsOfEvents(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	for begin, data := range map[string]any{"| of orders |": commerce.OrderTold{}, "| of statements |": commerce.StatementTold{},
		"| `coupon.leaking` | `code`": commerce.LeakTold{}, "| `connection.failing` | `connection_id`": commerce.ConnectionTold{}} {
		_, row, found := strings.Cut(string(page), "\n"+begin)
		row, _, _ = strings.Cut(begin+row, "\n")
		if !found {
			t.Errorf("no row begins with %q", begin)
		}
		for field := range reflect.TypeOf(data).Fields() {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); !strings.Contains(row, "`"+name+"`") {
				t.Errorf("%s has no %s", begin, name)
			}
		}
	}
}
