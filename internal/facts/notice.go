package facts

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tributary-io/tributary/internal/agent"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/publichost"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// Notice is a wire.Notice whose parts are within their bounds.
type Notice struct{ wire.Notice }

// Bounds of a notice's texts, in bytes.
const (
	maxCode   = 64
	maxOrigin = 255

	maxRefusedEvents = 1_000_000_000 // of one origin
)

// ParseNotice parses a record for which wire.IsNotice holds. It returns one of the errors of
// ParseEvent for one that can never be applied.
func ParseNotice(raw []byte) (Notice, error) {
	var n Notice
	if err := json.Unmarshal(raw, &n.Notice); err != nil {
		return n, fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	switch {
	case n.CompanyID == "":
		return n, ErrNoCompany
	case len(n.ID) == 0 || len(n.ID) > 32 || n.Dropped != nil && (len(n.Dropped.ID) == 0 || len(n.Dropped.ID) > 32):
		return n, ErrNoID
	case !commerce.Recordable(n.ReceivedAt):
		return n, ErrTime
	}
	if !slices.Contains(agent.Families(), n.Agent) {
		n.Agent = agent.Other
	}
	n.Origin = n.Origin[:min(len(n.Origin), maxOrigin)]
	n.Duplicate = min(max(n.Duplicate, 0), core.MaxBatchEvents)
	n.Rejected = n.Rejected[:min(len(n.Rejected), core.MaxBatchEvents)]
	for i := range n.Rejected {
		r := &n.Rejected[i]
		r.Code, r.IDs = r.Code[:min(len(r.Code), maxCode)], r.IDs[:min(len(r.IDs), core.MaxBatchEvents*wire.NoticeIDSize)]
		r.Unnamed = min(max(r.Unnamed, 0), core.MaxBatchEvents)
	}
	n.Numbers = n.Numbers[:min(len(n.Numbers), core.MaxBatchEvents)]
	n.Refused = n.Refused[:min(len(n.Refused), wire.MaxRefused+1)]
	for i := range n.Refused {
		r := &n.Refused[i]
		if _, ok := publichost.OfOrigin(r.Origin); !ok && r.Origin != wire.NoOrigin {
			r.Origin = ""
		}
		r.Events = min(max(r.Events, 0), maxRefusedEvents)
	}
	if n.Dropped != nil {
		known := core.DropReasons()
		counts := map[string]int64{}
		for reason, events := range n.Dropped.Counts {
			if !slices.Contains(known[:], reason) {
				reason = core.DroppedOther
			}
			if events > 0 {
				counts[reason] = min(counts[reason]+min(events, core.MaxDropped), core.MaxDropped)
			}
		}
		n.Dropped.Counts = counts
	}
	return n, nil
}

// OtherOrigin is what is written for an origin that is none of the company's.
const OtherOrigin = "other"
