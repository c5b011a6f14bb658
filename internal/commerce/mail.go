package commerce

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/shopspring/decimal"
)

// WebhookDisabled is told by mail alone: who set up the endpoint reads nothing there any more.
const WebhookDisabled EventType = "webhook.disabled"

// Of mails (docs/adr/0042).
const (
	MailPartners  = "partners"       // the id of the destination of all partners of a company
	MailPrefix    = "mail_"          // begins that of a person's, which ends with the person's id
	DigestKey     = "reviews"        // of the message that stands for all orders that wait for a decision
	DigestEvery   = time.Hour        // a destination gets no more than one in it
	DigestNotice  = time.Minute      // one that is due sooner may be under way: what happens now belongs to the next
	FailingAfter  = 30 * time.Minute // that a shop is not read is mailed then, where it is not read still
	FailingEvery  = 6 * time.Hour    // and of one shop no more than once in it
	MaxMailShown  = 20               // names in one mail
	MaxMailLetter = 80               // characters of a name in a mail
)

// DisabledTold is the data of WebhookDisabled.
type DisabledTold struct {
	EndpointID string `json:"endpoint_id"`
	Reason     string `json:"reason"` // one of Endpoint…
}

// DigestAt is when the digest is sent that tells a destination what happens at a moment: at one minute of each hour, which follows from
// the destination's id, so that not all are sent at once.
func DigestAt(companyID, destinationID string, moment time.Time) time.Time {
	sum := sha256.Sum256([]byte(companyID + "\x00" + destinationID))
	offset := time.Duration(binary.BigEndian.Uint32(sum[:])%uint32(DigestEvery/time.Second)) * time.Second
	least := moment.Add(DigestNotice)
	at := least.Truncate(DigestEvery).Add(offset)
	if at.Before(least) {
		at = at.Add(DigestEvery)
	}
	return at.UTC()
}

// MailDestination is what a person, or the partners of a company, get by mail.
type MailDestination struct {
	ID       string // MailPartners, or MailPrefix and the person's id
	Types    []EventType
	Language string // lang.Tags
	Active   bool   // false: too many messages waited
}

// MailPerson is the person of a destination, now.
type MailPerson struct{ Email, Role, Store string }

// MailReviews is what a digest tells.
type MailReviews struct {
	Orders int64 // that wait for a decision
	Totals []MailTotal
	SentAt time.Time // when the destination got a digest last, within DigestEvery; zero: it did not
}

// MailTotal is what the commissions of one currency come to.
type MailTotal struct {
	Currency string
	Minor    decimal.Decimal
}

// MailStatement is a statement as a mail to its partner tells it.
type MailStatement struct {
	Email, Partner, Store string
	Number                int64
	EndDate               string // YYYY-MM-DD
	Carried               bool   // nothing is paid: it is part of the next one
	Revoked               int64  // how often its links were revoked
}

// StatementNamed is what is read of StatementTold to know which statement it is.
type StatementNamed struct {
	StatementID  string `json:"statement_id"`
	Number       int64  `json:"number"`
	InfluencerID string `json:"influencer_id"`
}

// MailShop is a connection to a shop.
type MailShop struct {
	Platform, Name string
	Failing        bool
	SentAt         time.Time // when the destination got a mail about it last, within FailingEvery; zero: it did not
}
