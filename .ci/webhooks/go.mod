// Verifies our webhooks with the library of Standard Webhooks: connect/webhook/verifiers_test.go. A module of its own, so
// that the project's go.mod does not gain it.
module github.com/tributary-io/tributary/ci/webhooks

go 1.26.0

require github.com/standard-webhooks/standard-webhooks/libraries v0.0.1
