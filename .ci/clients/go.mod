// Calls the admin API with the Go client that OpenAPI Generator makes, in ./openapi: admin/clients_test.go.
module github.com/tributary-io/tributary/ci/clients

go 1.26.0
