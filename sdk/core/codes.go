package core

// Code says why a body or an event was refused. Codes are part of the
// interface: they do not change.
type Code string

const (
	CodeInvalidJSON       Code = "invalid_json"
	CodeNoEvents          Code = "no_events"
	CodeTooManyEvents     Code = "too_many_events"
	CodeCompanyIDRequired Code = "company_id_required"
	CodeMixedCompanies    Code = "mixed_companies"
	CodeInvalidEvent      Code = "invalid_event" // neither an object nor a known envelope
	CodeInvalidEventID    Code = "invalid_event_id"
	CodeInvalidEventName  Code = "invalid_event_name"
	CodeInvalidTimestamp  Code = "invalid_timestamp"
	CodeInvalidPayload    Code = "invalid_payload"
	CodeItemsRequired     Code = "payload_items_required"
	CodeInvalidIdentity   Code = "invalid_identity"
	CodeInvalidContext    Code = "invalid_context"
	CodeInvalidField      Code = "invalid_field" // any other field
	CodeEventTooLarge     Code = "event_too_large"
	CodeTooDeep           Code = "too_deep"
	CodeNumberOutOfRange  Code = "number_out_of_range"

	// Of warnings, and of events that are refused for one (docs/events.md, "Warnings").
	CodeUnknownField Code = "unknown_field"
	CodeInvalidValue Code = "invalid_value"
)

// Codes are all codes, for tests of the pages that explain them.
func Codes() []Code {
	return []Code{
		CodeInvalidJSON, CodeNoEvents, CodeTooManyEvents, CodeCompanyIDRequired, CodeMixedCompanies,
		CodeInvalidEvent, CodeInvalidEventID, CodeInvalidEventName, CodeInvalidTimestamp, CodeInvalidPayload,
		CodeItemsRequired, CodeInvalidIdentity, CodeInvalidContext, CodeInvalidField, CodeEventTooLarge,
		CodeTooDeep, CodeNumberOutOfRange, CodeUnknownField, CodeInvalidValue,
	}
}
