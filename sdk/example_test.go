package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/tributary-io/tributary/sdk"
)

// exampleEdge knows one company, "loja", and acknowledges its events, as the edge
// does. dev.json's edge_url is a real one.
func exampleEdge() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			CompanyID string                     `json:"companyId"`
			Events    []struct{ EventID string } `json:"events"`
		}
		_ = json.NewDecoder(r.Body).Decode(&request)
		if request.CompanyID != "loja" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":{"code":"unknown_company","message":"no such company"}}`))
			return
		}
		var answer struct {
			Results []map[string]string `json:"results"`
		}
		for _, e := range request.Events {
			answer.Results = append(answer.Results, map[string]string{"eventId": e.EventID, "status": "ok"})
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
}

func ExampleNew() {
	edge := exampleEdge()
	defer edge.Close()

	client, err := sdk.New(sdk.Config{
		CompanyID: "loja",
		Endpoint:  edge.URL,
		APIKey:    os.Getenv("TRIBUTARY_KEY"),
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

// What the edge refuses, Flush and Close return.
func ExampleClient_Flush() {
	edge := exampleEdge()
	defer edge.Close()

	client, err := sdk.New(sdk.Config{CompanyID: "loij", Endpoint: edge.URL, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close(context.Background())
	_ = client.Track(context.Background(), sdk.PageView, nil, sdk.Identity{})
	err = client.Flush(context.Background())

	var failed *sdk.Failed
	if errors.As(err, &failed) {
		fmt.Println(failed.Events, "not delivered")
	}
	if errors.Is(err, sdk.ErrUnknownCompany) {
		fmt.Println("correct Config.CompanyID")
	}
	// Output:
	// 1 not delivered
	// correct Config.CompanyID
}

// An event of a visitor whom the browser SDK knows: visitorId from its cookie trb_id.
func ExampleClient_TrackEvent() {
	edge := exampleEdge()
	defer edge.Close()

	client, err := sdk.New(sdk.Config{CompanyID: "loja", Endpoint: edge.URL, OnResult: func(r sdk.Result) {
		fmt.Println(r.EventID, r.Status)
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = client.TrackEvent(context.Background(), sdk.Event{
		ID:        "0190b6a0-7c00-7000-8000-000000000001", // sent twice, it counts once
		Name:      sdk.CheckoutCompleted,
		Payload:   `{"items":[{"item_id":"camiseta-p","item_quantity":1}]}`,
		VisitorID: "0190b6a0-7c00-7000-8000-0000000000aa",
	})
	if err != nil {
		fmt.Println(err)
	}
	_ = client.Close(context.Background())
	// Output: 0190b6a0-7c00-7000-8000-000000000001 ok
}

// With a queue on disk, what one client leaves the next one sends.
func ExampleConfig_queueDir() {
	edge := exampleEdge()
	defer edge.Close()
	dir, err := os.MkdirTemp("", "queue")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, closing := range []context.Context{ended, context.Background()} {
		client, err := sdk.New(sdk.Config{
			CompanyID: "loja", Endpoint: edge.URL, QueueDir: dir,
			OnResult: func(r sdk.Result) { fmt.Println(r.Status) },
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		if closing == ended { // the first client: its context leaves no time to send
			_ = client.Track(context.Background(), sdk.PageView, nil, sdk.Identity{})
		}
		_ = client.Close(closing)
	}
	// Output: ok
}
