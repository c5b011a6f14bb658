package login

import (
	"net/http"
	"strings"

	"github.com/mileusna/useragent"
)

// maxUserAgent bounds what is read of the header, in bytes.
const maxUserAgent = 1024

// browserOf says in a few words from which browser a request comes: "Chrome,
// Windows". It is shown to the person who logged in with it.
func browserOf(r *http.Request) string {
	text := r.UserAgent()
	agent := useragent.Parse(text[:min(len(text), maxUserAgent)])
	var words []string
	for _, word := range []string{agent.Name, agent.OS, agent.Device} {
		if word = strings.ToValidUTF8(word, ""); word != "" && len(word) < 40 {
			words = append(words, word)
		}
	}
	return strings.Join(words, ", ")
}
