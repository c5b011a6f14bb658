package sdkjs

import (
	_ "embed"
	"html"
	"strings"
)

//go:embed snippet.html
var snippet string

// Snippet returns what a shop puts into its pages' head, as HTML: a stub that
// keeps the calls made before the script has loaded, and the script's tag. A
// call is never an error, also where an ad blocker keeps the script away.
// endpoint is the edge's URL without a slash at its end. The READMEs show the
// same text.
func Snippet(endpoint, companyID string) string {
	return strings.NewReplacer(
		"https://collect.your-shop.com", html.EscapeString(endpoint),
		"YOUR_COMPANY_ID", html.EscapeString(companyID),
	).Replace(snippet)
}
