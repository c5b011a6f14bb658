// Command webhooks verifies messages with the Go library of Standard Webhooks: it reads a JSON list of messages from the standard input
// and writes a JSON list that says of each whether the library accepts it. verify.mjs does so with the JavaScript library.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"os"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// message is one as it came, and the secret that the receiver has.
type message struct {
	Secret  string            `json:"secret"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

func main() {
	var messages []message
	if err := json.NewDecoder(os.Stdin).Decode(&messages); err != nil {
		log.Fatal(err)
	}
	accepted := make([]bool, len(messages))
	for i, m := range messages {
		verifier, err := standardwebhooks.NewWebhook(m.Secret)
		if err != nil {
			log.Fatal(err)
		}
		headers := http.Header{}
		for name, value := range m.Headers {
			headers.Set(name, value)
		}
		accepted[i] = verifier.Verify([]byte(m.Body), headers) == nil
	}
	if err := json.NewEncoder(os.Stdout).Encode(accepted); err != nil {
		log.Fatal(err)
	}
}
