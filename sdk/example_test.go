package sdk_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/tributary-io/tributary/sdk"
)

// exampleEdge acknowledges one event a request, as the edge does.
func exampleEdge() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, rest, _ := strings.Cut(string(body), `"eventId":"`)
		fmt.Fprintf(w, `{"results":[{"eventId":%q,"status":"ok"}]}`, rest[:36])
	}))
}

func ExampleNew() {
	edge := exampleEdge()
	defer edge.Close()

	client, err := sdk.New(sdk.Config{
		CompanyID: "loja",
		Endpoint:  edge.URL, // dev.json's edge_url
		OnResult:  func(r sdk.Result) { fmt.Println(r.Status) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	payload := map[string]any{"items": []map[string]any{{"item_id": "camiseta-p", "item_quantity": 2}}}
	identity := sdk.Identity{Email: "ana@example.com", CartToken: "c-123"}
	if err := client.Track(context.Background(), sdk.CheckoutCompleted, payload, identity); err != nil {
		fmt.Println(err)
	}
	if err := client.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output: ok
}

func ExampleInit() {
	edge := exampleEdge()
	defer edge.Close()

	if err := sdk.Init(sdk.Config{CompanyID: "loja", Endpoint: edge.URL}); err != nil {
		fmt.Println(err)
		return
	}
	err := sdk.Track(context.Background(), sdk.CheckoutCompleted, nil, sdk.Identity{})
	fmt.Println(err)
	_ = sdk.Close(context.Background())
	// Output: track CHECKOUT_COMPLETED: payload_items_required: payload.items must be an array of at least one item
}
