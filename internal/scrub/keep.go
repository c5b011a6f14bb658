package scrub

import (
	"regexp"

	"github.com/tributary-io/tributary/sdk/core"
)

// utmPattern is a query parameter with a UTM value; its group is the value.
var utmPattern = regexp.MustCompile(`(?:^|[?&#;])utm_(?:source|medium|campaign|content|term)=([^&#]*)`)

// Keeping scrubs a URL but for the UTM values that keep knows: names of a store's
// influencers and campaigns, which may look like an address or a number ("Ana
// @ana.prado"). keep gets each value without escapes, as core.ParseCampaign reads it.
func Keeping(url string, keep func(value string) bool, scrub func(string) string) string {
	out, begin := "", 0
	for _, m := range utmPattern.FindAllStringSubmatchIndex(url, -1) {
		if value, _ := core.ParseCampaign("?utm_campaign=" + url[m[2]:m[3]]); value.Name != "" && keep(value.Name) {
			out += scrub(url[begin:m[2]]) + url[m[2]:m[3]]
			begin = m[3]
		}
	}
	return out + scrub(url[begin:])
}
