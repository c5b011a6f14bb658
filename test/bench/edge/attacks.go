package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// Bounds of the edge that the attacks go up to (docs/edge.md, "Bounds").
const (
	eventBytes = 32 << 10
	bodyBytes  = 1 << 20
	maxRatio   = 100
)

// changing stands in a request where each one has another number.
const changing = "########"

// linkCode is a short link of the benchmark's company.
const linkCode = "Ab12Cd"

// attacks are all of them.
func attacks() []attack {
	var all []attack
	all = append(all, bodies()...)
	all = append(all, texts()...)
	all = append(all, encodings()...)
	return append(all, requests()...)
}

// plain is an attack of one body that is not compressed.
func plain(name string, status int, body string) attack {
	request := post("", body)
	return attack{name, request, len(request), status}
}

// event is a body of one event with a payload's member.
func event(value string) string { return `{"event":"X","payload":{"a":` + value + `}}` }

// filled repeats a text up to a length.
func filled(text string, length int) string { return strings.Repeat(text, length/len(text)) }

// numbered repeats a text up to a length with another number in each.
func numbered(format string, length int) string {
	var out strings.Builder
	for i := 0; out.Len()+len(format)+10 < length; i++ {
		fmt.Fprintf(&out, format, 10_000_000+i)
	}
	return out.String()
}

const room = eventBytes - 100 // of a value in one event

// bodies are attacks by what is in a body.
func bodies() []attack {
	envelope := func(payload string) string {
		return `["r1",null,null,"X","{\"a\":\"` + payload + `\"}",null,{}]`
	}
	return []attack{
		plain("escapes in an oversized event", 200, event(`"`+filled("%25", bodyBytes-200)+`"`)),
		plain("an oversized event, deep", 200, event(filled("[", 500_000)+filled("]", 500_000))),
		plain("one level too deep", 200, event(filled("[", room/2)+filled("]", room/2))),
		plain("no JSON, one mebibyte", 400, filled("[", bodyBytes-200)),
		plain("500 rejected events", 200, "["+strings.TrimSuffix(filled("1,", 1000), ",")+"]"),
		plain("500 rejected for many reasons", 200, "["+strings.TrimSuffix(filled(
			`1,{"event":7},{"event":"X","seq":-1},{"event":"X","eventId":"x"},{"event":"X","timestamp":"x"},{"event":"X","payload":1},`+
				`{"event":"X","identity":1},{"event":"X","context":1},{"event":"CHECKOUT_COMPLETED"},`, 500*20), ",")+"]"),
		plain("a rejected event full of phones", 200, `{"event":"X","seq":-1,"payload":{"a":"`+filled("+5511987654321 ", 8000)+`"}}`),
		plain("500 smallest events", 200, "["+strings.TrimSuffix(filled(`{"event":"A"},`, 14*500), ",")+"]"),
		plain("a member for each byte", 200, event(`{`+strings.TrimSuffix(filled(`"":0,`, room), ",")+`}`)),
		plain("items of other names", 200,
			`{"event":"ADD_TO_CART","payload":{"items":[`+strings.TrimSuffix(filled(`{"id":"1"},`, room), ",")+`]}}`),
		plain("bytes that are no UTF-8", 200, event(`"`+filled("\xffa", room)+`"`)),
		plain("characters that are replaced", 200, event(`"`+filled(`\u0000a`, room)+`"`)),
		plain("an envelope of escapes", 200, envelope(filled(`\\\\`, room))),
		plain("huge numbers", 200, event(`[`+strings.TrimSuffix(filled("9e307,", room), ",")+`]`)),
		plain("long numbers", 200, event(`[`+strings.TrimSuffix(filled(filled("9", 308)+",", room), ",")+`]`)),
		plain("1,000 companies in one body", 400, "["+strings.TrimSuffix(numbered(`{"companyId":"c%d","event":"A"},`, 20_000), ",")+"]"),
	}
}

// texts are attacks by what has to be scrubbed.
func texts() []attack {
	quoted := func(text string) string { return event(`"` + filled(text, room) + `"`) }
	page := func(url string) string {
		return `{"event":"X","context":{"page":{"url":"` + url + `","path":"` + url + `","referrer":"` + url + `","title":"` + url + `"},` +
			`"campaign":{"source":"` + url + `","medium":"` + url + `","name":"` + url + `","content":"` + url + `","term":"` + url +
			`"},"userAgent":"` + url + `"}}`
	}
	return []attack{
		plain("phones in a payload", 200, quoted("+5511987654321 ")),
		plain("almost phones in a payload", 200, quoted("+551198765x")),
		plain("digits in a payload", 200, quoted("12345678")),
		plain("digits and spaces in a payload", 200, quoted("1 2 3 4 5 6 7 8 ")),
		plain("brackets and digits in a payload", 200, quoted("(11 9(")),
		plain("days in a payload", 200, quoted("+2026-01-02 ")),
		plain("e-mails in a payload", 200, quoted("a@b.cc ")),
		plain("at signs in a payload", 200, quoted("@")),
		plain("almost e-mails in a payload", 200, quoted("a@b.c")),
		plain("one long almost e-mail in a payload", 200, event(`"`+filled("a", room-1)+`@"`)),
		plain("escaped at signs in a payload", 200, quoted("%40")),
		plain("escapes in a payload", 200, quoted("%25")),
		plain("escaped letters in a payload", 200, quoted("%61%40")),
		plain("fullwidth letters in a payload", 200, quoted("ａ＠")),
		plain("ids in queries in a payload", 200, quoted("&user_id=1")),
		plain("phones in queries in a payload", 200, quoted("&phone=12345678")),
		plain("words before phones in a payload", 200, quoted("tel 1234567890 ")),
		plain("members that name ids", 200, event(`{`+strings.TrimSuffix(numbered(`"user_id":"%d",`, room), ",")+`}`)),
		plain("members that name phones", 200, event(`{`+strings.TrimSuffix(numbered(`"phone":"%d",`, room), ",")+`}`)),
		plain("JSON in JSON in a payload", 200,
			event(`"`+strings.ReplaceAll(event(`"`+strings.ReplaceAll(event(`"`+filled("a@b.cc ", room/2)+`"`), `"`, `\"`)+`"`), `"`, `\"`)+`"`)),
		plain("phones in every text", 200, page("https://wa.me/"+filled("+5511987654321", 2000))),
		plain("escapes in every text", 200, page("https://x.com/?"+filled("%25", 2000))),
		plain("campaigns in every text", 200, page("https://x.com/?"+filled("utm_source=a&", 2000))),
		plain("click ids in every text", 200, page("https://x.com/?"+filled("trb_click=a.1&gclid=1&", 2000))),
		plain("ids in every text", 200, page("https://x.com/?"+filled("user_id=1&", 2000))),
		plain("an unknown user agent", 200, `{"event":"X","context":{"userAgent":"`+changing+filled("(a;b)", 500)+`"}}`),
		plain("an unknown user agent of words", 200, `{"event":"X","context":{"userAgent":"`+changing+filled("a/1 ", 500)+`"}}`),
		plain("an unknown page and phone", 200,
			`{"event":"X","identity":{"phone":"+49`+changing+`","email":"`+changing+`@x.com"},"visitorId":"`+changing+
				`","context":{"page":{"url":"https://x.com/`+changing+`"}}}`),
		plain("an identity that is no phone", 200, `{"event":"X","identity":{"phone":"+`+filled("٤", 300)+`","email":"`+filled("a@", 300)+`"}}`),
		plain("an identity of digits", 200,
			`{"event":"X","identity":{"phone":"`+filled("5511987654321", 300)+`","customer_id":"`+filled("Ａ", 300)+`"}}`),
	}
}

// newPacker writes in an encoding.
func newPacker(encoding string, to io.Writer) io.WriteCloser {
	switch encoding {
	case "gzip":
		return gzip.NewWriter(to)
	case "deflate":
		return zlib.NewWriter(to)
	case "br":
		return brotli.NewWriterLevel(to, brotli.BestCompression)
	}
	w, err := zstd.NewWriter(to)
	if err != nil {
		panic(err) // options are fixed
	}
	return w
}

// encodings are attacks by compression.
func encodings() []attack {
	var all []attack
	add := func(name, encoding string, status int, body string) {
		header, text := packed(encoding, body)
		all = append(all, attack{name + ", " + encoding, post(header, text),
			len(post(header, "")) + min(len(body), maxRatio*len(text), bodyBytes), status})
	}
	noise := func(n int) string { // does not compress
		var out strings.Builder
		for x := uint64(1); out.Len() < n; x = x*6364136223846793005 + 1442695040888963407 {
			out.WriteByte("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[x>>58])
		}
		return out.String()
	}
	for _, encoding := range []string{"gzip", "deflate", "br", "zstd"} {
		add("one mebibyte of blanks", encoding, 413, strings.Repeat(" ", bodyBytes))
		add("500 rejected events", encoding, 200, "["+strings.TrimSuffix(filled("1,", 1000), ",")+"]")
		add("as dense as may be", encoding, 200, event(`"`+filled("%25", 300_000)+noise(14_000)+`"`))
	}
	// RFC 8878: a window of 8 MiB, and one last block that repeats a byte 131,071 times.
	frame := "\x28\xb5\x2f\xfd\x00\x68" + "\xfb\xff\x0f" + " "
	all = append(all, attack{"a window of 8 MiB, zstd", post("Content-Encoding: zstd\r\n", frame),
		len(post("Content-Encoding: zstd\r\n", "")) + maxRatio*len(frame), 413})
	return all
}

// requests are attacks by everything but the body.
func requests() []attack {
	small := `{"event":"X"}`
	get := func(name, target, headers string, status int) attack {
		request := "GET " + target + " HTTP/1.1\r\nHost: edge.example.com\r\n" + headers + "\r\n"
		return attack{name, request, len(request), status}
	}
	with := func(name, headers string, status int) attack {
		request := post(headers, small)
		return attack{name, request, len(request), status}
	}
	const headerRoom = 14 << 10
	chunked := "POST /v1/events?companyId=" + company + " HTTP/1.1\r\nHost: edge.example.com\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, c := range event(`"` + filled("a", 5000) + `"`) {
		chunked += "1\r\n" + string(c) + "\r\n"
	}
	chunked += "0\r\n\r\n"
	known := func(name string, status int, body string) attack {
		request := strings.Replace(post("", body), "/v1/events?companyId="+company, "/v1/known", 1)
		return attack{name, request, len(request), status}
	}
	ask := func(ids string) string {
		return `{"companyId":"` + company + `","eventIds":[` + strings.TrimSuffix(ids, ",") + `]}`
	}
	return []attack{
		known("asking for 500 events that never came", 200, ask(strings.Repeat(`"0199f3a0-0000-7000-8000-0000`+changing+`",`, 500))),
		known("asking for ids that are none", 200, ask(strings.Repeat(`"`+filled("f", 36)+`",`, 500))),
		known("asking for too many events", 400, ask(strings.Repeat(`"",`, 10_000))),
		known("asking with what is no JSON", 400, filled("[", 32<<10)),
		{"chunks of one byte", chunked, len(chunked), 200},
		{"a short link under a long host",
			"GET /s/" + linkCode + " HTTP/1.1\r\nHost: " + filled("a.", headerRoom) + "com\r\n\r\n", headerRoom, 302},
		{"an unknown company", strings.Replace(post("", small), company, "co_nobody", 1), len(post("", small)), 401},
		with("a wrong API key", "Authorization: Bearer trb_live_0123456789abcdefghijklmnopqrstuvwxyz0123\r\n", 401),
		with("a long API key", "Authorization: Bearer "+filled("k", headerRoom)+"\r\n", 401),
		with("a page that shows a key", "Origin: https://x.com\r\nAuthorization: Bearer "+filled("k", headerRoom)+"\r\n", 403),
		with("an unknown origin", "Origin: https://"+filled("x", headerRoom)+".com\r\n", 403),
		with("a long header", "X-A: "+filled("a", headerRoom)+"\r\n", 200),
		with("many headers", filled("A: b\r\n", headerRoom), 200),
		with("a long request id", "X-Request-Id: "+filled("5511987654321", headerRoom)+"\r\n", 200),
		with("a made-up cookie", "Sec-Fetch-Site: same-origin\r\nCookie: "+filled("trb_vid=1; ", headerRoom)+"\r\n", 200),
		with("a user agent of phones", "Sec-Fetch-Site: none\r\nUser-Agent: "+filled("+5511987654321 ", headerRoom)+"\r\n", 200),
		with("an unknown encoding", "Content-Encoding: "+filled("x", headerRoom)+"\r\n", 415),
		with("headers that are too large", "X-A: "+filled("a", 20<<10)+"\r\n", 431),
		get("a pixel", "/v1/pixel.gif?companyId="+company, "", 200),
		get("a pixel of phones",
			"/v1/pixel.gif?companyId="+company+"&payload=%7B%22a%22:%22"+filled("+5511987654321", headerRoom)+"%22%7D", "", 200),
		get("a pixel of parameters", "/v1/pixel.gif?companyId="+company+filled("&a", headerRoom), "", 200),
		get("a pixel that is no JSON", "/v1/pixel.gif?companyId="+company+"&payload="+filled("[", headerRoom), "", 400),
		get("a short link", "/s/"+linkCode, "User-Agent: Mozilla/5.0\r\n", 302),
		get("a short link with a referrer of phones", "/s/"+linkCode, "Referer: https://wa.me/"+filled("+5511987654321", headerRoom)+"\r\n", 302),
		get("an unknown short link", "/s/"+linkCode+"0", "", 404),
		get("an unknown path", "/"+filled("x/../", headerRoom), "", 404),
		get("an unknown file of the SDK", "/sdk/v1/"+filled("x", headerRoom), "", 404),
	}
}
