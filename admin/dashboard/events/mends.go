package events

// mends are what a rejected event should look like, by the code of the rejection: JSON to
// copy. What is wrong in words is the text "mend.<code>". Codes without an example need
// none. A test holds them to the parser.
var mends = map[string]string{
	"invalid_json":        exampleEvent,
	"invalid_event":       exampleEvent,
	"no_events":           `{"companyId": "c_…", "events": [` + exampleEvent + `]}`,
	"company_id_required": `{"companyId": "c_…", "events": [` + exampleEvent + `]}`,
	"invalid_event_id":    `{"eventId": "019cf15e-1200-7000-8000-000000000001", "event": "PAGE_VIEW"}`,
	"invalid_event_name":  `{"event": "PAGE_VIEW"}`,
	"invalid_timestamp":   `{"event": "PAGE_VIEW", "timestamp": "2026-03-15T12:00:00Z"}`,
	"invalid_payload":     `{"event": "ADD_TO_CART", "payload": {"items": [{"item_id": "tee-m", "item_quantity": 1}]}}`,
	"payload_items_required": `{"event": "CHECKOUT_COMPLETED", "payload": {"items": [{"item_id": "tee-m", "item_quantity": 2, ` +
		`"price": 49.90}]}}`,
	"invalid_identity": `{"event": "CHECKOUT_COMPLETED", "identity": {"email": "ana@example.com", "phone": "+5511912345678"}, ` +
		`"payload": {"items": [{"item_id": "tee-m", "item_quantity": 1}]}}`,
	"invalid_context": `{"event": "PAGE_VIEW", "context": {"page": {"url": "https://loja.example.com/"}}}`,
	"invalid_field":   exampleEvent,
	"unknown_field":   exampleEvent,
	"invalid_value":   exampleEvent,
	"invalid_time":    `{"event": "PAGE_VIEW", "timestamp": "2026-03-15T12:00:00Z"}`,
}

// exampleEvent is an event with all that is usual.
const exampleEvent = `{"eventId": "019cf15e-1200-7000-8000-000000000001", "event": "PAGE_VIEW", "timestamp": "2026-03-15T12:00:00Z", ` +
	`"visitorId": "0199f3a0-0000-7000-8000-00000000000a", "context": {"page": {"url": "https://loja.example.com/"}}}`
