package facts

import "time"

// DeliveryCount is how many events met an outcome on a UTC day, by receivedAt.
type DeliveryCount struct {
	Day     time.Time // midnight UTC
	Outcome string    // DeliveryStored, DeliveryDuplicate, or DeliveryRejected and the code
	Events  int64     // may be negative: an event that was counted otherwise before
}

const (
	DeliveryStored    = "stored"
	DeliveryDuplicate = "duplicate"
	DeliveryRejected  = "rejected:" // and the code
)
