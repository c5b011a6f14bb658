package identity

// Recent makes the keys of a request's events. The events of one request are
// mostly of one visitor: the last key of each kind is kept and not made again.
// Not safe for concurrent use.
type Recent struct {
	keys Keys
	last [7]struct{ raw, key string }
}

// Recent makes a Recent of the company's keys.
func (k Keys) Recent() *Recent { return &Recent{keys: k} }

// Email is Keys.Email.
func (r *Recent) Email(raw string) string { return r.key(0, raw, Keys.Email) }

// Phone is Keys.Phone.
func (r *Recent) Phone(raw string) string { return r.key(1, raw, Keys.Phone) }

// Customer is Keys.Customer.
func (r *Recent) Customer(raw string) string { return r.key(2, raw, Keys.Customer) }

// Cart is Keys.Cart.
func (r *Recent) Cart(raw string) string { return r.key(3, raw, Keys.Cart) }

// VisitorID is Keys.VisitorID.
func (r *Recent) VisitorID(raw string) string { return r.key(4, raw, Keys.VisitorID) }

// SessionID is Keys.SessionID.
func (r *Recent) SessionID(raw string) string { return r.key(5, raw, Keys.SessionID) }

// Stream is Keys.Stream.
func (r *Recent) Stream(raw string) string { return r.key(6, raw, Keys.Stream) }

func (r *Recent) key(kind int, raw string, of func(Keys, string) string) string {
	last := &r.last[kind]
	if last.raw != raw { // nothing gives no key, as in a new Recent
		last.raw, last.key = raw, of(r.keys, raw)
	}
	return last.key
}
