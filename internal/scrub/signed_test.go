package scrub

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/identity"
)

// A signature must survive what is done to every page's URL.
func TestScrubbingLeavesSignedClicks(t *testing.T) {
	hasher, err := identity.NewHasher(bytes.Repeat([]byte{7}, identity.MinSecret))
	if err != nil {
		t.Fatal(err)
	}
	signer := identity.NewSigner(hasher, nil)
	for i := range 2000 {
		id := "0199f3a0-0000-7000-8000-" + strings.Repeat("0", 8) +
			string([]byte{byte('0' + i/1000%10), byte('0' + i/100%10), byte('0' + i/10%10), byte('0' + i%10)})
		url := "https://loja.example.com/p?utm_source=influencer&trb_click=" + signer.Sign(identity.SignedClick, "Ab12Cd."+id) + "&x=1#frete"
		if got := Text(url); got != url {
			t.Fatalf("%s became %s", url, got)
		}
	}
}
