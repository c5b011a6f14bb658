package wire

import (
	"bytes"
	"slices"
	"time"
)

// Notice is a record of events.v1 that is no event: what became of a request's events, or of
// refused requests' events, that are not in the topic. Its first member is "notice", so that it is known by its
// first bytes (IsNotice). It names no person.
type Notice struct {
	V          int              `json:"notice"` // 1
	CompanyID  string           `json:"companyId"`
	ID         []byte           `json:"id"` // of the request: each has another
	ReceivedAt time.Time        `json:"receivedAt"`
	Origin     string           `json:"origin,omitempty"`    // of the page that sent it, one of the company's
	Agent      string           `json:"agent,omitempty"`     // a family of browsers (internal/agent)
	Duplicate  int64            `json:"duplicate,omitempty"` // events that the edge had acknowledged before
	Rejected   []NoticeRejected `json:"rejected,omitempty"`
	Numbers    []NoticeNumber   `json:"numbers,omitempty"` // of rejected events: they have come
	Dropped    *NoticeDropped   `json:"dropped,omitempty"`

	// Refused are events of pages whose origins the company does not list, of many requests.
	// Such a notice tells of nothing else.
	Refused []NoticeRefused `json:"refused,omitempty"`
}

// IsNotice reports whether the value of a record of events.v1 is a notice and no event.
func IsNotice(value []byte) bool { return bytes.HasPrefix(value, []byte(`{"notice":`)) }

// NoticeRejected are the events of a request that the edge rejected for one reason.
type NoticeRejected struct {
	Code    string `json:"code"`
	IDs     []byte `json:"ids,omitempty"`     // NoticeIDSize bytes for each event with an id; the same where it is sent again
	Unnamed int64  `json:"unnamed,omitempty"` // events without an id that can be read: nothing tells them apart
}

// NoticeNumber is the number of a rejected event.
type NoticeNumber struct {
	Stream string `json:"stream"` // as in Event
	Seq    int64  `json:"seq"`
}

// NoticeIDSize is how many bytes tell a rejected event from others.
const NoticeIDSize = 8

// NoticeDropped is what the sender gave up itself, as it says.
type NoticeDropped struct {
	ID     []byte           `json:"id"`               // the same where the batch is sent again
	Counts map[string]int64 `json:"counts"`           // by a reason of core.DropReasons
	Stream string           `json:"stream,omitempty"` // of the batch's events, as in Event
}

// NoticeRefused are events of pages of one origin that the company does not list.
type NoticeRefused struct {
	Origin string `json:"origin,omitempty"` // as browsers send it, "null" too; empty: of others, which are too many or no origins
	Events int64  `json:"events"`
}

// NoOrigin is what browsers send as the origin of a frame that has none: one in a sandbox.
const NoOrigin = "null"

// MaxRefused bounds the origins of Notice.Refused, beside "others".
const MaxRefused = 20

// Reject adds a rejected event. One without an id has nil.
func (n *Notice) Reject(code string, id []byte) {
	i := slices.IndexFunc(n.Rejected, func(r NoticeRejected) bool { return r.Code == code })
	if i < 0 {
		i = len(n.Rejected)
		n.Rejected = append(n.Rejected, NoticeRejected{Code: code})
	}
	if r := &n.Rejected[i]; id == nil {
		r.Unnamed++
	} else {
		r.IDs = append(r.IDs, id...)
	}
}
