package sdk

// halving is how many events go at a time, after answers that they are too large (413),
// whoever gave them.
type halving struct {
	limit int
	alone map[string]bool // ids of events that were too large alone
	stuck bool            // one was, and no request was taken since
}

// part returns the events of the next request. One that was too large goes alone.
func (h *halving) part(left []entry) []entry {
	n := 1
	for n < min(h.limit, len(left)) && !h.alone[left[0].id] && !h.alone[left[n].id] {
		n++
	}
	return left[:n]
}

// tooLarge takes note that a request was too large. It returns true if it had one event,
// which was too large alone before: that is given up. Else half of the events go next, or
// the event goes once more, after the others.
func (h *halving) tooLarge(part []entry, most int) bool {
	if h.limit = len(part) / 2; h.limit > 0 {
		return false
	}
	h.limit = most
	id := part[0].id
	again := h.alone[id]
	h.alone[id] = true
	return again
}
