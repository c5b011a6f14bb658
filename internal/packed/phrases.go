package packed

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// phrases are texts that records have often: the names of their members as the edge
// writes them (edge/record.go), values of few kinds, and parts of user agents and
// addresses. A phrase is never changed, moved or removed: what is stored names it by its
// place. There is room for 176.
var phrases = [...]string{
	`{"companyId":"`, `","eventId":"`, `","event":"`, `","timestamp":"`, `","payload":{`, `},"payload":{`,
	`","context":{"page":{"url":"https://`, `"},"context":{"page":{"url":"https://`, `},"context":{"page":{"url":"https://`,
	`","context":{"`, `},"context":{"`, `"page":{"url":"`,
	`","path":"`, `","path":"/`, `","referrer":"`, `","referrer":"https://`, `","title":"`,
	`"},"campaign":{"source":"`, `"campaign":{"source":"`, `","medium":"`, `","name":"`, `","content":"`, `","term":"`,
	`"},"clickIds":{"`, `"},"library":{"name":"`, `"},"library":{"name":"sdk-js","version":"`, `"},"library":{"name":"sdk-go","version":"`,
	`"library":{"name":"`, `","version":"`, `"},"locale":"`, `"},"locale":"pt-BR","screen":"`, `","locale":"`, `","screen":"`,
	`","userAgent":"`, `"userAgent":"`,
	`"},"visitorId":"`, `},"visitorId":"`, `","visitorId":"`, `","sessionId":"`, `","stream":"`, `","seq":`,
	`,"identity":{"`, `"},"identity":{"`,
	`emailKey":"`, `","phoneKey":"`, `","customerKey":"`, `","cartKey":"`, `","cartNoKey":"`, `","verified":true},"`, `"},"receivedAt":"`,
	`,"receivedAt":"`, `","receivedAt":"`, `","clockSkewMs":`, `,"ip":"`, `","netKey":"`, `","frame":true`, `,"frame":true`,
	`","cookieId":"`, `,"cookieId":"`,
	`","bot":"none","consent":"granted","via":"sdk-js","trust":"open`, `","bot":"none","consent":"granted","via":"sdk-wasm","trust":"open`,
	`","bot":"none","consent":"unknown","via":"sdk-js","trust":"open`, `","bot":"none","consent":"unknown","via":"sdk-wasm","trust":"open`,
	`","bot":"none","consent":"`, `","bot":"known","consent":"`, `","bot":"prefetch","consent":"`, `","bot":"preview","consent":"`,
	`,"bot":"none","consent":"`,
	`granted","via":"`, `denied","via":"`, `unknown","via":"`, `sdk-go","trust":"`, `http","trust":"`, `pixel","trust":"`, `link","trust":"`,
	`sdk-js","trust":"`, `sdk-wasm","trust":"`,
	`key","keyId":"`, `import","keyId":"`, `","keyId":"`, `","click":{"id":"`, `","code":"`, `","verified":true`, `","verified":false`,
	`,"linkId":"`, `","destination":"https://`,
	`PAGE_VIEW`, `PRODUCT_VIEW`, `CHECKOUT_`, `"cartToken":"`, `"orderId":"`, `"productId":"`, `","variantId":"`, `","quantity":`,
	`,"price":"`, `","currency":"BRL"`, `"items":[{"`, `"total":"`, `"query":"`,
	`https://`, `https://www.`, `.com/`, `.com.br/`, `www.google.com/`, `l.instagram.com/`, `www.instagram.com/`, `m.facebook.com/`,
	`www.facebook.com/`, `www.tiktok.com/`, `www.youtube.com/`,
	`utm_source=`, `&utm_medium=`, `&utm_campaign=`, `&utm_content=`, `&utm_term=`, `\u0026utm_medium=`, `\u0026utm_campaign=`,
	`\u0026utm_content=`, `\u0026utm_term=`,
	`influencer`, `instagram`, `newsletter`, `fbclid=`, `gclid=`, `gad_source=1`, `ttclid=`, `trb_click=`, `","fbclid":"`, `","trb_click":"`,
	`products/`, `collections/`, `/produto/`,
	`Mozilla/5.0 (`, `iPhone; CPU iPhone OS `, `iPad; CPU OS `, ` like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) `, `Version/`,
	` Mobile/15E148`, ` Mobile/15E148 Safari/604.1`, ` Safari/605.1.15`,
	`Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/`, `605.1.15 (KHTML, like Gecko) `, `537.36 (KHTML, like Gecko) Chrome/`,
	`Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/`,
	`X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/`,
	`Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/`, `Linux; Android `,
	`) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/`, `) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/`, `.0.0.0 Safari/537.36`,
	`.0.0.0 Mobile Safari/537.36`, ` Mobile Safari/537.36`,
	`; rv:`, `) Gecko/20100101 Firefox/`, ` Build/`, `; wv`, `SamsungBrowser/`, ` Edg/`, `Instagram `, ` FBAN/FBIOS;FBAV/`,
	` [FBAN/`, `FBAV/`, `; pt_BR; `,
}

// prefixLength is how many bytes of a phrase its place in a book follows from.
// The shortest phrase has as many.
const prefixLength = 4

// book finds phrases by their first bytes: the place of the first one, plus one, and for
// each the place of the next, plus one; 0: none. Of those with one slot the longest comes
// first.
type book struct {
	phrases []string
	first   [1 << 12]byte
	next    []byte
}

// recordPhrases are those of records.
var recordPhrases = newBook(phrases[:])

func newBook(phrases []string) *book {
	b := &book{phrases: phrases, next: make([]byte, len(phrases))}
	shortestFirst := make([]int, len(phrases))
	for i := range shortestFirst {
		shortestFirst[i] = i
	}
	slices.SortStableFunc(shortestFirst, func(x, y int) int { return cmp.Compare(len(phrases[x]), len(phrases[y])) })
	for _, i := range shortestFirst {
		slot := &b.first[prefixOf([]byte(phrases[i]))]
		b.next[i], *slot = *slot, byte(i+1)
	}
	return b
}

// prefixOf hashes the first bytes of a text (Fibonacci hashing).
func prefixOf(text []byte) uint32 { return binary.LittleEndian.Uint32(text) * 2654435769 >> (32 - 12) }
