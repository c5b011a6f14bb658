// Compares the Go SDK with others: `go -C .ci/peers run .`. A module of its own, so
// that the project's go.mod does not gain them.
module github.com/tributary-io/tributary/ci/peers

go 1.26.0

require (
	github.com/posthog/posthog-go v1.5.2
	github.com/tributary-io/tributary v0.0.0
)

replace github.com/tributary-io/tributary => ../..
