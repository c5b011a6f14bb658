package seglog

import "errors"

// Owner is whose share of a log a record takes.
type Owner struct {
	Name     string
	Reserved bool // its records may take the reserve as well
}

// ErrShare: the record would exceed its owner's share. Others' may fit.
var ErrShare = errors.New("seglog: the owner's share is full")

// Bounds of shares. An owner may have ownerShare times what is left free, so there is always
// something left for others, and an owner that is alone gets most of it.
const (
	ownerShare   = 3
	reserveShare = 4 // MaxBytes divided by this is kept for owners that are Reserved
)

// shares are the bytes of records by owner, in all segments and on their way there.
type shares struct {
	owners map[Owner]int64
	open   int64 // of all owners that are not Reserved
}

func (s *shares) add(o Owner, n int64) {
	if s.owners[o] += n; s.owners[o] == 0 {
		delete(s.owners, o)
	}
	if !o.Reserved {
		s.open += n
	}
}

// takeShare takes n bytes of the owner's share if they are left; free is what the log has
// left. The caller holds l.mu.
func (l *Log) takeShare(o Owner, n, free int64) error {
	if !o.Reserved {
		free = min(free, l.options.MaxBytes-l.options.MaxBytes/reserveShare-l.shares.open)
	}
	if l.shares.owners[o]+n > ownerShare*(free-n) {
		return ErrShare
	}
	l.shares.add(o, n)
	return nil
}

// giveShares gives back what the records of a commit that failed have taken. The caller
// holds l.mu.
func (l *Log) giveShares(c *commit) {
	if l.options.Owner == nil {
		return
	}
	for i, r := range c.records {
		l.shares.add(c.owners[i], -recordHeader-int64(len(r.Payload)))
	}
}

// ownedBy counts a record that a segment holds.
func (s *segment) ownedBy(o Owner, n int64) {
	if s.owners == nil {
		s.owners = map[Owner]int64{}
	}
	s.owners[o] += n
}
