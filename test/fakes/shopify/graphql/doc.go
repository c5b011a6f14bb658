// Package graphql is a small GraphQL: a schema is read from its definition language, a query is parsed, checked
// against the schema with clear errors, priced and run. Enough for a fake: no subscriptions, no introspection but
// __typename, no custom directives.
//
// What may enter: the language. What a field means is the caller's.
package graphql
