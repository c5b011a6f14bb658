// Package docs is the documentation. As a package it holds what a service serves
// of it; nothing else may enter.
package docs

import _ "embed" // for EventSchema

// EventSchema is the JSON Schema (draft 2020-12) of an event as POST /v1/events
// takes it. Tests hold it against the parser, and against a real edge.
//
//go:embed event.schema.json
var EventSchema []byte
