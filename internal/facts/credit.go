package facts

import (
	"encoding/json"
	"slices"
)

// ModelCount is how many channel models there are.
const ModelCount = 6

// Models lists the channel models in the order in which they are shown. All are computed
// for every order (docs/attribution.md, "Channel credit").
var Models = [ModelCount]string{"first", "last", "last_non_direct", "linear", "position", "time_decay"}

// Credit is what one touch has of an order, by every model.
type Credit struct {
	Position     int    // of the touch among the order's, from 1; 0 where there is no touch
	TouchID      string // of its first event; OrderTouch; "" where there is no touch. It is not stored
	Channel      string
	InfluencerID string
	CampaignID   string
	Parts        [ModelCount]Part // in the order of Models
}

// OrderTouch is the id of the touch by the order's own UTM values. All other touches have
// the id of an event.
const OrderTouch = "order"

// Part is a touch's part of an order under one model. A touch that the model leaves out
// has none, which is not the same as an amount of 0.
type Part struct {
	Given bool
	Minor int64 // in minor units of the order's currency
}

// Of returns the touch's part under a model.
func (c *Credit) Of(model string) Part {
	if i := slices.Index(Models[:], model); i >= 0 {
		return c.Parts[i]
	}
	return Part{}
}

// creditFields are the fields of a stored Credit.
const creditFields = 4 + ModelCount

// MarshalJSON writes a credit as it is stored: a list of position, channel, influencer, campaign, and an amount for each
// of Models, null where the model leaves the touch out. The view credit reads it.
func (c Credit) MarshalJSON() ([]byte, error) {
	fields := [creditFields]any{c.Position, c.Channel, c.InfluencerID, c.CampaignID}
	for i, part := range c.Parts {
		if part.Given {
			fields[4+i] = part.Minor
		}
	}
	return json.Marshal(fields)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Credit) UnmarshalJSON(stored []byte) error {
	*c = Credit{}
	fields := [creditFields]any{&c.Position, &c.Channel, &c.InfluencerID, &c.CampaignID}
	for i := range c.Parts {
		fields[4+i] = &c.Parts[i].Minor
	}
	if err := json.Unmarshal(stored, &fields); err != nil {
		return err
	}
	for i := range c.Parts {
		c.Parts[i].Given = fields[4+i] != nil // null
	}
	return nil
}
