package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// shape is a part of docs/event.schema.json.
type shape struct {
	Description string           `json:"description"`
	Type        any              `json:"type"` // a text or several
	Ref         string           `json:"$ref"`
	Required    []string         `json:"required"`
	Properties  map[string]shape `json:"properties"`
	Items       *shape           `json:"items"`
	Open        bool             `json:"additionalProperties"`
	Defs        map[string]shape `json:"$defs"`
}

const eventTypesFile = "sdk-js/src/event-types.ts"

const typesHead = `// The types of an event, for pages and servers. Made of docs/event.schema.json by sdk-js/build; do not edit.
// This file becomes dist/events.d.cts, so it has no imports and no code.

`

// typesTail is what TypeScript has and a schema has not.
const typesTail = `/** What the payload of an event must have. */
export type PayloadOf<N> = N extends keyof Payloads ? Payloads[N] : object | null | undefined;

/** A call's payload and identity: both may be left out where the event needs no payload. */
export type Rest<N, P, More extends unknown[] = []> = N extends "CHECKOUT_COMPLETED"
  ? [payload: P, identity?: Identity | null, ...more: More]
  : [payload?: P, identity?: Identity | null, ...more: More];
`

// makeTypes makes src/event-types.ts: an interface of each definition that begins with a capital.
func makeTypes(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "event.schema.json"))
	if err != nil {
		return nil, err
	}
	var schema shape
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, fmt.Errorf("read event.schema.json: %w", err)
	}
	context := schema.Defs["Context"].Properties
	for _, name := range []string{"campaign", "clickIds", "networkIds", "library"} { // the client's own, of URLs and of cookies
		delete(context, name)
	}
	delete(context["page"].Properties, "path")                // it is taken from the URL
	for _, name := range []string{"visitorId", "sessionId"} { // in an envelope they stand in the context
		context[name] = schema.Properties[name]
	}
	var out strings.Builder
	out.WriteString(typesHead)
	for _, name := range slices.Sorted(maps.Keys(schema.Defs)) {
		if of := schema.Defs[name]; isType(name) {
			fmt.Fprintf(&out, "%sexport interface %s {\n%s}\n\n", of.comment(""), name, schema.members(of, "  ", "\n"))
		}
	}
	out.WriteString(typesTail)
	return []byte(out.String()), nil
}

func isType(name string) bool { return name != "" && name[0] <= 'Z' }

func (schema shape) comment(indent string) string {
	if schema.Description == "" {
		return ""
	}
	return indent + "/** " + schema.Description + " */\n"
}

// members is an object's members, each with its comment where it has a line of its own.
func (schema shape) members(of shape, indent, end string) string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(of.Properties)) {
		member, optional := of.Properties[name], "?"
		if slices.Contains(of.Required, name) {
			optional = ""
		}
		if end == "\n" {
			out.WriteString(member.comment(indent))
		}
		out.WriteString(indent + name + optional + ": " + schema.typed(member) + ";" + end)
	}
	if of.Open {
		out.WriteString(indent + "[more: string]: unknown;" + end)
	}
	return out.String()
}

// typed is the type of a value.
func (schema shape) typed(of shape) string {
	name := strings.TrimPrefix(of.Ref, "#/$defs/")
	if name != "" {
		of = schema.Defs[name]
	}
	var types []string
	for t := range strings.FieldsSeq(strings.Trim(fmt.Sprint(of.Type), "[]")) { // a text, or a list of them
		t = strings.Replace(t, "integer", "number", 1)
		switch {
		case t == "object" && isType(name):
			t = name
		case t == "object" && of.Properties != nil:
			t = "{ " + strings.TrimSuffix(schema.members(of, "", " "), "; ") + " }"
		case t == "array":
			t = "readonly " + schema.typed(*of.Items) + "[]"
		}
		types = append(types, t)
	}
	return strings.Join(types, " | ")
}
