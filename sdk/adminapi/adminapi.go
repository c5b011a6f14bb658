// Package adminapi is a client of Tributary's admin API, version 1: orders, influencers, reports and payouts of one store. It is made
// from the API's OpenAPI document by oapi-codegen. It is a module of its own: it requires what that generator needs, and nothing of
// Tributary.
package adminapi

import (
	"context"
	"net/http"
)

// New returns a client of the API at url (https://admin.example.com/admin/v1, or …/sandbox/admin/v1) that sends an API key with each
// request. Of an answer that is no 2xx, the field for its status has the error: JSON404.Error.Code. An error is returned where there was
// no answer, or one that is not as the document says. Give WithHTTPClient one with a timeout: without it a request may take for ever.
func New(url, key string, options ...ClientOption) (*ClientWithResponses, error) {
	authorized := WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+key)
		return nil
	})
	return NewClientWithResponses(url, append([]ClientOption{authorized}, options...)...)
}
