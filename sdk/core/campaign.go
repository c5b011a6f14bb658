package core

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// ParseCampaign cuts the five UTM values and the click ids out of a page's
// URL, the first of each name, cut to their bounds; click ids come sorted by
// name. A single-page shop may have its query in the fragment ("#/p?utm_…"):
// that is read when the URL has no other.
func ParseCampaign(url string) (Campaign, []Param) {
	var c Campaign
	var ids []Param
	query := query(url)
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		name, value, _ := strings.Cut(pair, "=")
		field := c.field(name)
		if field == nil && !isClickID(name) {
			continue
		}
		value = cut(strings.TrimSpace(unescapeQuery(value)), maxCampaign)
		switch {
		case value == "":
		case field == nil:
			if !slices.ContainsFunc(ids, func(p Param) bool { return p.Name == name }) {
				ids = append(ids, Param{name, value})
			}
		case *field == "":
			*field = value
		}
	}
	sortParams(ids)
	return c, ids
}

func (c *Campaign) field(parameter string) *string {
	switch parameter {
	case "utm_source":
		return &c.Source
	case "utm_medium":
		return &c.Medium
	case "utm_campaign":
		return &c.Name
	case "utm_content":
		return &c.Content
	case "utm_term":
		return &c.Term
	}
	return nil
}

// cutURL shortens a page's URL to at most maxURL bytes. A longer one keeps its scheme, host
// and path, and of its query the UTM values and click ids alone, since they say how the
// visitor came and often stand at the end. Of a path that is too long whole segments are
// left out. Such a URL is always shorter than maxURL by a character, so it does not look
// as if its last value were cut.
func cutURL(url string) string {
	if len(url) <= maxURL {
		return url
	}
	const room = maxURL - utf8.UTFMax
	pairs := campaignPairs(url, room/2)
	if pairs == "" {
		return cut(url, maxURL)
	}
	address, _, _ := strings.Cut(url, "?")
	if len(address) > room-len(pairs) {
		address = cut(address, room-len(pairs))
		address = address[:strings.LastIndexByte(address, '/')+1]
	}
	return address + "?" + pairs[:len(pairs)-1]
}

// campaignPairs returns the pairs of a URL's query that ParseCampaign reads, each with a "&"
// behind it, as they stand there. A pair that has no room in most bytes is left out.
func campaignPairs(url string, most int) string {
	var c Campaign
	var kept string
	var known []string
	rest := query(url)
	for rest != "" {
		var pair string
		pair, rest, _ = strings.Cut(rest, "&")
		name, value, _ := strings.Cut(pair, "=")
		if c.field(name) == nil && !isClickID(name) || slices.Contains(known, name) || len(kept)+len(pair) >= most ||
			strings.TrimSpace(unescapeQuery(value)) == "" {
			continue
		}
		kept, known = kept+pair+"&", append(known, name)
	}
	return kept
}

func sortParams(params []Param) {
	slices.SortFunc(params, func(a, b Param) int { return strings.Compare(a.Name, b.Name) })
}

func query(url string) string {
	before, fragment, _ := strings.Cut(url, "#")
	if _, q, ok := strings.Cut(before, "?"); ok {
		return q
	}
	_, q, _ := strings.Cut(fragment, "?")
	return q
}

// urlPath is the path of an absolute URL, "" for any other.
func urlPath(url string) string {
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		return ""
	}
	begin := -1
	for i := 0; i < len(rest); i++ {
		if c := rest[i]; c == '?' || c == '#' {
			rest = rest[:i]
		} else if c == '/' && begin < 0 {
			begin = i
		}
	}
	if begin < 0 {
		return "/"
	}
	return rest[begin:]
}

// unescapeQuery decodes a query's escapes. A malformed escape stays as it is.
func unescapeQuery(s string) string {
	if !strings.ContainsAny(s, "%+\x00") && utf8.ValidString(s) {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '+':
			c = ' '
		case c == '%' && i+2 < len(s) && unhex(s[i+1]) >= 0 && unhex(s[i+2]) >= 0:
			c = byte(unhex(s[i+1])<<4 | unhex(s[i+2]))
			i += 2
		}
		if c == 0 {
			b = utf8.AppendRune(b, utf8.RuneError)
			continue
		}
		b = append(b, c)
	}
	return strings.ToValidUTF8(string(b), string(utf8.RuneError))
}

// cut shortens s to at most n bytes without breaking a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
