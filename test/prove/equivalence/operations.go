package equivalence

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// damage are bytes that a parser stumbles over.
const damage = "\"\\{}[],:0e-. \x00\xffnu"

// operations returns n random bodies: sound envelopes, single and in batches, with members
// and values drawn from what events have, and the same with bytes changed, cut out and doubled.
func operations(envelopes []string, n int, seed uint64) []string {
	random := rand.New(rand.NewPCG(seed, 20261122)) //nolint:gosec // a seed makes the same operations again
	bodies := make([]string, 0, n)
	for range n {
		body := envelopes[random.IntN(len(envelopes))]
		if random.IntN(2) == 0 {
			body = envelope(random)
		}
		for random.IntN(4) == 0 {
			body += "," + envelope(random)
		}
		if random.IntN(3) > 0 {
			body = "[" + body + "]"
		}
		if random.IntN(2) == 0 {
			body = harm(random, body)
		}
		bodies = append(bodies, strings.ToValidUTF8(body, "\ufffd")) // what a page can send
	}
	return bodies
}

// envelope is a raw envelope as a page makes it, with odd values here and there.
func envelope(random *rand.Rand) string {
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	value := func() string {
		return pick(`1`, `-0`, `1e21`, `4.90`, `"é"`, `"\ud83d"`, `"ana@example.com"`, `null`, `true`, `[]`, `{}`, `"\u0000"`, `1e400`,
			`[[[{"a":1}]]]`, `""`)
	}
	odd := func(sound ...string) string {
		if random.IntN(12) == 0 {
			return value()
		}
		return pick(sound...)
	}
	number := func() string { return fmt.Sprint(random.IntN(1000)) }
	items := func() string {
		var list []string
		for range 1 + random.IntN(3) {
			list = append(list, fmt.Sprintf(`{%q:%s,%q:%s,"price":%s}`, pick("item_id", "item_id", "id", "sku", "variant_id", "x"),
				odd(`"a"`, `7`, `"b`+number()+`"`), pick("item_quantity", "quantity", "quantity"), odd(`1`, `2`, `"3"`), value()))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	text := func(json string) string { return fmt.Sprintf("%q", json) }
	payload := odd(`null`, text(`{"`+pick("items", "items", "products", "lineItems", "total", "é")+`":`+odd(items())+`,"a":`+value()+`}`))
	identity := odd(`null`,
		text(`{"`+pick("email", "phone", "customer_id", "cart_token")+`":`+odd(`" A@B.com "`, `"0"`, `"+55 11 98765-4321"`,
			`"c`+number()+`"`)+`}`))
	context := fmt.Sprintf(`{"url":%s,"title":%s,"visitorId":%s,"seq":%s,"consent":%s,"frame":%s,"campaign":%s,"clickIds":%s,"networkIds":%s,`+
		`"library":{"name":"sdk-js","version":"1"}}`,
		odd(`"https://loja.example.com/?utm_source=a&utm_campaign=%C3%A9&gclid=G`+number()+`"`, `"x"`), odd(`"T"`, `"é\ud83d"`),
		odd(`"v-`+number()+`"`), odd(number()),
		odd(`"granted"`, `"denied"`, `"granted tiktok,ga4"`), odd(`true`, `false`), odd(`{"source":"x"}`), odd(`{"fbclid":"F","no":1}`),
		odd(`{"ga":"1.`+number()+`","no":1}`,
			`{"fbp":"fb.1.1738782878094.`+number()+`","ga":`+value()+`}`,
			`{"ttp":"kEDQ0tJexuVClkJ41P2S`+number()+`","ga_session":"AB`+number()+`.1762344000"}`))
	return fmt.Sprintf(`[%s,%s,%s,%s,%s,%s,%s]`, odd(`"r1"`),
		odd(`"0199f3a0-0000-7000-8000-000000000001"`, `null`), odd(`"2026-03-15T12:00:00.5Z"`, `"2026-03-15T12:00:00-03:00"`, `null`),
		odd(`"PAGE_VIEW"`, `"purchase"`, `"ADD_TO_CART"`, `"MY_EVENT"`, `"Order Completed"`), payload, identity, context)
}

// harm changes, cuts out and doubles bytes.
func harm(random *rand.Rand, text string) string {
	body := []byte(text)
	for range 1 + random.IntN(3) {
		if len(body) == 0 {
			break
		}
		i := random.IntN(len(body))
		switch random.IntN(3) {
		case 0:
			body[i] = damage[random.IntN(len(damage))]
		case 1:
			body = append(body[:i:i], body[min(len(body), i+1+random.IntN(8)):]...)
		case 2:
			body = append(body[:i:i], append([]byte(string(body[:min(len(body), i+random.IntN(20))])), body[i:]...)...)
		}
	}
	return string(body)
}

// golden reads the envelopes of testdata/events, and the bodies that once differed.
func golden(root string) (envelopes, differed []string, err error) {
	for dir, to := range map[string]*[]string{"events": &envelopes, "equivalence": &differed} {
		files, err := filepath.Glob(filepath.Join(root, "testdata", dir, "*.txt"))
		if err != nil {
			return nil, nil, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file) //nolint:gosec // of testdata
			if err != nil {
				return nil, nil, err
			}
			body, _, _ := strings.Cut(string(text), "\n----------\n")
			*to = append(*to, body)
		}
	}
	if len(envelopes) == 0 {
		return nil, nil, fmt.Errorf("no golden events below %s", root)
	}
	return envelopes, differed, nil
}
