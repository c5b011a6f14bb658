package models

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math/big"
)

// TallyDigest is a SHA-256 of all that a tally's weights depend on.
type TallyDigest [sha256.Size]byte

// Digest returns the digest of the tally for channels in an order: two tallies with equal
// digests have equal weights. channels are as in Weights.
func (t *Tally) Digest(channels []int32) (d TallyDigest) {
	w := digester{h: sha256.New()}
	w.number(int64(len(t.model)))
	w.buffer = append(w.buffer, t.model...)
	w.number(int64(len(channels)))
	row := func(list []total) {
		for i, channel := range channels {
			if int(channel) < len(list) {
				w.total(i, &list[channel])
			}
		}
		w.number(-1)
	}
	ends := func(list []ended) {
		for i, channel := range channels {
			if int(channel) < len(list) {
				w.total(2*i, &list[channel].conversions)
				w.total(2*i+1, &list[channel].value)
			}
		}
		w.number(-1)
	}
	steps := func(state int) {
		if state < len(t.steps) {
			row(t.steps[state])
		} else {
			w.number(-1)
		}
	}
	steps(0)
	for _, channel := range channels {
		steps(int(channel) + 1)
	}
	ends(t.ends)
	row(t.left)
	for _, list := range t.sizes {
		ends(list)
	}
	w.flush()
	w.h.Sum(d[:0])
	return d
}

// digester writes numbers into a hash. What it writes can be read in one way only.
type digester struct {
	h      hash.Hash
	buffer []byte
}

// number writes a number.
func (w *digester) number(n int64) {
	if w.buffer = binary.AppendVarint(w.buffer, n); len(w.buffer) > 4096 {
		w.flush()
	}
}

func (w *digester) flush() {
	w.h.Write(w.buffer)
	w.buffer = w.buffer[:0]
}

// total writes a sum that is not 0, with its place.
func (w *digester) total(place int, t *total) {
	great := t.high != nil && t.high.Sign() > 0
	if t.low == 0 && !great {
		return
	}
	w.number(int64(place))
	if !great {
		w.number(t.low)
		return
	}
	// The whole number, with its size: the same sum may be kept in two ways.
	n := new(big.Int).Add(t.high, big.NewInt(t.low))
	if n.IsInt64() {
		w.number(n.Int64())
		return
	}
	bytes := n.Bytes()
	w.number(int64(-1 - len(bytes)))
	w.buffer = append(w.buffer, bytes...)
}
