package facts

import "time"

// DeliveryCount is added to how many events of a UTC day had an outcome.
type DeliveryCount struct {
	Day     time.Time // midnight UTC, of receivedAt; of a rejected record, when it was rejected
	Outcome string    // DeliveryStored, DeliveryLate, DeliveryDuplicate, or DeliveryRejected and the code
	Events  int64     // to add; negative where an event had another outcome until now
}

// Outcomes of DeliveryCount.
const (
	DeliveryStored    = "stored"
	DeliveryLate      = "late" // of the stored ones
	DeliveryDuplicate = "duplicate"
	DeliveryRejected  = "rejected:" // and the code
)
