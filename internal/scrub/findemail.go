package scrub

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// findEmail finds an e-mail address. Its local part stops at what separates values
// in a URL; the last label of its domain begins with a letter, as every TLD does.
func findEmail(text string, i int) span { return findAddress(text, i, domainEnd) }

// findCut finds an address that a text ends in, whole or not.
func findCut(text string, i int) span {
	// Behind the last of these no address ends any more.
	end := strings.LastIndexAny(text, "\t\n\f\r &?=/#;,@") + 1
	return findAddress(text, i, func(text string, at int) int {
		if at < end {
			return 0
		}
		return len(text)
	})
}

// findAddress finds a local part and an at sign behind which ends says that the
// address ends; 0: it is none.
func findAddress(text string, i int, ends func(text string, i int) int) span {
	for i < len(text) {
		begin, end := i, localEnd(text, i)
		if end == begin {
			_, n := utf8.DecodeRuneInString(text[i:])
			i += n
			continue
		}
		if between(text, end, '@', '@') {
			if last := ends(text, end+1); last > 0 {
				return span{begin, begin, last}
			}
		}
		// A local part may hold escaped at signs; the last that fits is the address's.
		for from := end; ; {
			at := strings.LastIndexByte(text[begin:from], '%')
			if at <= 0 { // something must stand before it
				break
			}
			from = begin + at
			if domain := behindEscape(text, from, '@'); domain > 0 {
				if last := ends(text, domain); last > 0 {
					return span{begin, begin, last}
				}
			}
		}
		i = end
	}
	return span{}
}

// findSpaced finds an address whose at sign has spaces on both sides ("ana @ example.com"). With
// a space before it alone it is a mention ("by @ana.prado").
func findSpaced(text string, i int) span {
	for at := i; at < len(text); at++ {
		end := behind(text, at, '@')
		if end == 0 {
			continue
		}
		domain := behindSpaces(text, end)
		local := beforeSpaces(text, i, at)
		if domain == end || local == at {
			continue
		}
		begin := local
		for begin > i && (localSigns[text[begin-1]] || text[begin-1] >= utf8.RuneSelf) {
			begin--
		}
		if last := domainEnd(text, domain); last > 0 && begin < local {
			return span{begin, begin, last}
		}
	}
	return span{}
}

// behindSpaces is the index behind up to maxGap spaces at i, as a URL or a text has them.
func behindSpaces(text string, i int) int {
	for range maxGap {
		next := behind(text, i, ' ')
		if next == 0 {
			next = behind(text, i, '+')
		}
		if next == 0 {
			break
		}
		i = next
	}
	return i
}

// beforeSpaces is the index before up to maxGap spaces that end at a place, none before from.
func beforeSpaces(text string, from, end int) int {
	for range maxGap {
		switch before := text[from:end]; {
		case strings.HasSuffix(before, " "), strings.HasSuffix(before, "+"):
			end--
		default:
			escape := len(before) - 1 // of "%20", "%2520" …: behind the sign are hex digits alone
			for escape >= 0 && isHex(before[escape]) {
				escape--
			}
			if escape < 0 || behindEscape(before, escape, ' ') != len(before) {
				return end
			}
			end = from + escape
		}
	}
	return end
}

// localSigns are the signs of ASCII, besides the escapes, that a local part holds.
var localSigns = bytesOf("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._+-!#$*'^{|}~")

// localEnd is the index behind what a local part may hold, from i on.
func localEnd(text string, i int) int {
	for i < len(text) {
		switch c := text[i]; {
		case localSigns[c]:
			i++
		case c == '%' && hexPair(text, i+1):
			i += len("%40")
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(text[i:])
			if !unicode.IsLetter(r) && !unicode.IsNumber(r) {
				return i
			}
			i += n
		default:
			return i
		}
	}
	return i
}

// domainEnd is the index behind the domain at i: labels with dots between them, the
// last of which begins with a letter and has another sign; 0 for none.
func domainEnd(text string, i int) (end int) {
	for first := true; ; first = false {
		begin := i
		letter := false
		for i < len(text) {
			r, n := rune(text[i]), 1
			if r >= utf8.RuneSelf {
				r, n = utf8.DecodeRuneInString(text[i:])
			}
			if r != '-' && !unicode.IsLetter(r) && !unicode.IsNumber(r) {
				break
			}
			if i == begin {
				letter = unicode.IsLetter(r)
			} else if letter && !first {
				end = i + n
			}
			i += n
		}
		if i == begin || !between(text, i, '.', '.') {
			return end
		}
		i++
	}
}

// isRetina tells whether a domain is the "2x.png" of an image's name, not one.
func isRetina(domain string) bool {
	size, form, _ := strings.Cut(domain, ".")
	if len(size) != 2 || size[0] < '1' || size[0] > '9' || size[1] != 'x' {
		return false
	}
	switch strings.ToLower(form) {
	case "png", "jpg", "jpeg", "webp", "gif", "svg", "avif":
		return true
	}
	return false
}

// leading is the length of found up to the last encoded separator before the
// address: of "q%3Dana%40x.com" it is that of "q%3D".
func leading(found string) int {
	end := lastAt(found)
	begin := 0
	for _, separator := range []string{"%3D", "%3d", "%2F", "%2f", "%26", "%20", "%3A", "%3a"} {
		if i := strings.LastIndex(found[:end], separator); i >= 0 {
			begin = max(begin, i+len(separator))
		}
	}
	return begin
}

// lastAt is where the last at sign of an address begins.
func lastAt(found string) int {
	end := strings.LastIndexByte(found, '@')
	for from := len(found); ; {
		i := strings.LastIndexByte(found[:from], '%')
		if i < 0 || i < end {
			return end
		}
		if behindEscape(found, i, '@') > 0 {
			return i
		}
		from = i
	}
}
