package facts

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tributary-io/tributary/internal/packed"
	"github.com/tributary-io/tributary/sdk/core"
)

// Stage is how far a visitor came on a day, as a set of bits. The numbers are stored and
// never change.
type Stage int16

// The stages.
const (
	StageVisited  Stage = 1 // any event
	StageViewed   Stage = 2
	StageAdded    Stage = 4
	StageCheckout Stage = 8
	StageBought   Stage = 16
)

// Stages lists the stages.
var Stages = []Stage{StageVisited, StageViewed, StageAdded, StageCheckout, StageBought}

// stageOf has the stage that an event's name shows, beside StageVisited.
var stageOf = map[string]Stage{
	core.ProductView: StageViewed, core.AddToCart: StageAdded, core.InitiateCheckout: StageCheckout, core.CheckoutCompleted: StageBought,
}

// What a visitor is counted for on a day: the store, an item, an influencer's campaign.
const (
	OfStore      = ""
	ofItem       = "p:"
	ofInfluencer = "i:"
)

// OfItem is an item, as events name it.
func OfItem(id string) string { return ofItem + id }

// AfterItems is greater than every OfItem, and than nothing else that a visitor is counted
// for and that is not below all of them. OfItem("") stands for all items of a day for which
// it has no room.
const AfterItems = "p;"

// IsItem reports whether a visitor is counted for an item.
func (k ShopperKey) IsItem() bool { return strings.HasPrefix(k.Subject, ofItem) }

// OfInfluencer is an influencer's campaign, or the influencer without one.
func OfInfluencer(influencerID, campaignID string) string {
	return ofInfluencer + influencerID + "/" + campaignID
}

// ShopperKey names one visitor's day, and what it is counted for.
type ShopperKey struct {
	Day     string // of the event, YYYY-MM-DD in the store's time zone
	Visitor string // packed (packed.ID)
	Subject string // OfStore, OfItem or OfInfluencer
}

// Shopper is how far one visitor came on a day.
type Shopper struct {
	ShopperKey
	Stages Stage
}

// Compare orders keys.
func (k ShopperKey) Compare(other ShopperKey) int {
	return cmp.Or(cmp.Compare(k.Day, other.Day), cmp.Compare(k.Visitor, other.Visitor), cmp.Compare(k.Subject, other.Subject))
}

// Traffic is how many visitors more came to a stage on a day, by the order of Stages.
type Traffic struct {
	Day, Subject string
	Visitors     [5]int64
}

// Clicks is how often a short link was opened on a day.
type Clicks struct {
	Day, Code string
	Clicks    int64
}

// maxItems bounds the items of an event that are counted: anybody may send events.
const maxItems = 20

// Stage returns the stages that the event shows, and the items for which it does.
func (e *Event) Stage() (Stage, []string) {
	stage, ok := stageOf[e.Event.Event]
	if !ok {
		return StageVisited, nil
	}
	return StageVisited | stage, e.items()
}

// items returns the ids of the first items of the event's payload, each once.
func (e *Event) items() (ids []string) {
	var payload struct {
		Items []struct {
			ID string `json:"item_id"`
		} `json:"items"`
	}
	if len(e.Payload) == 0 || json.Unmarshal(e.Payload, &payload) != nil {
		return nil
	}
	for _, item := range payload.Items {
		id := boundedID(strings.ToValidUTF8(item.ID, ""))
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		if len(ids) == maxItems {
			break
		}
	}
	return ids
}

// PackedShopper returns the visitor of a ShopperKey.
func PackedShopper(visitor string) string { return string(packed.ID(visitor)) }
