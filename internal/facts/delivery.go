package facts

import "time"

// DeliveryCount is added to how many events of a UTC day had an outcome.
type DeliveryCount struct {
	Day     time.Time // midnight UTC, of receivedAt; of a rejected record, when it was rejected
	Outcome string    // one of those below; of DeliveryRejected and DeliveryDropped, with a reason behind it
	Events  int64     // to add; negative where an event had another outcome until now
}

// Outcomes of DeliveryCount.
const (
	DeliveryStored    = "stored"
	DeliveryLate      = "late" // of the stored ones
	DeliveryDuplicate = "duplicate"
	DeliveryRejected  = "rejected:" // and the code
	DeliveryDropped   = "dropped:"  // by the sender, which says so; and the reason
	DeliveryMissing   = "missing"   // numbers that senders have used and that have not come

	// DeliveryUnfollowed counts streams, and about: those whose numbers are not looked at.
	DeliveryUnfollowed = "unfollowed"
)
