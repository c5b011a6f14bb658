// Package agent tells families of browsers by their User-Agent.
//
// What may enter: the names of families. There are few, whatever a User-Agent says, so
// that they may be keys of tables. Which agents are bots is the edge's.
package agent

import (
	"strings"

	"github.com/mileusna/useragent"
)

// The families. They are stored and never change.
const (
	Chrome  = "chrome" // and what is built on it and has no family of its own
	Edge    = "edge"
	Firefox = "firefox"
	Safari  = "safari"
	Samsung = "samsung"
	Opera   = "opera"
	InApp   = "in_app" // the browser inside an app: Instagram, TikTok, Facebook, …
	Other   = "other"
	None    = "none" // no User-Agent: a backend or an app
)

// Families are all families.
func Families() []string {
	return []string{Chrome, Edge, Firefox, Safari, Samsung, Opera, InApp, Other, None}
}

// inApp are parts of the User-Agents of apps that have a browser inside.
var inApp = []string{"instagram", "fban/", "fbav/", "fb_iab", "tiktok", "musical_ly", "bytedancewebview", "pinterest/", "snapchat",
	"linkedinapp", "twitter for", "line/", "micromessenger", "whatsapp"}

// Family returns the family of a User-Agent.
func Family(userAgent string) string {
	if strings.TrimSpace(userAgent) == "" {
		return None
	}
	lower := strings.ToLower(userAgent)
	for _, part := range inApp {
		if strings.Contains(lower, part) {
			return InApp
		}
	}
	switch useragent.Parse(userAgent).Name {
	case useragent.Chrome, useragent.HeadlessChrome, useragent.Vivaldi:
		return Chrome
	case useragent.Edge:
		return Edge
	case useragent.Firefox:
		return Firefox
	case useragent.Safari:
		return Safari
	case "Samsung Browser":
		return Samsung
	case useragent.Opera, useragent.OperaMini, useragent.OperaTouch:
		return Opera
	}
	return Other
}

// Known remembers families. Safe for concurrent use. The zero value is empty.
type Known struct{ Answers[string] }

// Family is the function of that name.
func (k *Known) Family(userAgent string) string { return k.Of(userAgent, Family) }
