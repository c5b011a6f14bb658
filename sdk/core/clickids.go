package core

import "slices"

// TrbClick is the parameter with which our own short links name one click.
const TrbClick = "trb_click"

// clickIDs is the only list of click ids. The browser SDK's build takes it from
// here; tests compare the event's schema and the attribution rules' channels with
// it. If a URL has several, the first in this order decides the channel.
var clickIDs = [...]string{
	TrbClick,
	"gclid", "gbraid", "wbraid", "dclid", // Google Ads, Campaign Manager
	"msclkid",   // Microsoft Advertising
	"yclid",     // Yandex Direct
	"fbclid",    // Meta: on every link out of Facebook and Instagram, paid or not
	"ttclid",    // TikTok
	"twclid",    // X
	"li_fat_id", // LinkedIn
	"ScCid",     // Snapchat
	"epik",      // Pinterest
	"rdt_cid",   // Reddit
}

// ClickIDs are the query parameters with which ad platforms, and our own short
// links, name one click. Their names are case-sensitive.
func ClickIDs() [len(clickIDs)]string { return clickIDs }

func isClickID(parameter string) bool { return slices.Contains(clickIDs[:], parameter) }
