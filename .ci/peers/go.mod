// Compares the Go SDK with others: `go -C .ci/peers run .`. A module of its own, so
// that the project's go.mod does not gain them.
module github.com/tributary-io/tributary/ci/peers

go 1.26.0

require (
	github.com/posthog/posthog-go v1.5.2
	github.com/tributary-io/tributary v0.0.0
	gopkg.in/segmentio/analytics-go.v3 v3.1.0
)

require (
	github.com/segmentio/backo-go v1.1.0 // indirect
	github.com/xtgo/uuid v0.0.0-20140804021211-a0b114877d4c // indirect
)

replace github.com/tributary-io/tributary => ../..
