package core

import "strconv"

// Reasons why a sender gave up events of its own. They are part of the interface: they
// do not change. The numbers of such events (Event.Seq) are used up.
const (
	DroppedQueueFull  = "queue_full" // as many events wait as may
	DroppedRefused    = "refused"    // the edge refused the whole request, for a reason that stays
	DroppedGivenUp    = "given_up"   // it could not be sent in as many attempts as are made
	DroppedExpired    = "expired"    // it could not be sent for days
	DroppedUnreadable = "unreadable" // what was stored of it cannot be read
	DroppedOther      = "other"      // a reason that this core does not know
)

// DropReasons are all reasons, in the order in which they are told.
func DropReasons() [dropReasons]string {
	return [...]string{DroppedQueueFull, DroppedRefused, DroppedGivenUp, DroppedExpired, DroppedUnreadable, DroppedOther}
}

const (
	dropReasons = 6

	// MaxDropped is how many events of one reason a batch may tell of. A sender that has
	// lost more tells of the rest with the next one.
	MaxDropped = 1_000_000
	// maxDropMembers bounds the members that are read, known or not.
	maxDropMembers = 20
)

// Dropped is how many events a sender gave up for each reason, in the order of
// DropReasons.
type Dropped [dropReasons]int64

// Sum is how many events those are.
func (d Dropped) Sum() (n int64) {
	for _, count := range d {
		n += count
	}
	return n
}

// AppendDropped appends the member's value of a batch.
func AppendDropped(dst []byte, d Dropped) []byte {
	first := len(dst) + 1
	dst = append(dst, '{')
	for i, reason := range DropReasons() {
		if d[i] == 0 {
			continue
		}
		if len(dst) != first {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), reason...), '"', ':')
		dst = strconv.AppendInt(dst, d[i], 10)
	}
	return append(dst, '}')
}

// dropped reads the member of a batch.
func (b *Batch) dropped(text string) *Violation {
	if text == "" || text == "null" {
		return nil
	}
	s := Scan(text, 0)
	if s.Kind() != Object {
		return &Violation{CodeInvalidField, "dropped", "must be an object of reasons and numbers"}
	}
	s.Enter()
	for members := 0; ; members++ {
		name, more := s.Key()
		if !more {
			break
		}
		if members == maxDropMembers {
			return &Violation{CodeInvalidField, "dropped", "has more than 20 members"}
		}
		n, ok := int64(0), s.Kind() == Number
		if ok {
			n, ok = wholeNumber(s.Raw())
		}
		if !ok || n > MaxDropped {
			return &Violation{CodeInvalidField, "dropped", "must have whole numbers from 0 to 1,000,000"}
		}
		reason := len(b.Dropped) - 1 // other
		for i, known := range DropReasons() {
			if known == name {
				reason = i
			}
		}
		b.Dropped[reason] = min(b.Dropped[reason]+n, MaxDropped)
	}
	if !s.Done() {
		return notJSON()
	}
	return nil
}

// wholeNumber reads a number of digits alone.
func wholeNumber(text string) (n int64, ok bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n >= 0 && text[0] != '-'
}
