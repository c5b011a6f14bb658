package models

import (
	"encoding/binary"
	"math/big"
	"math/bits"
)

// flow is a number that is not negative, with 192 bits (precision): the whole number of
// the bits hi, mid and lo, times 2^exp. The first bit of hi is 1, or the number is 0.
// Results are rounded down, by less than 2^-188 of them. So it computes as a big.Float
// does but for the last bits, without memory of its own: some five times as fast.
type flow struct {
	hi, mid, lo uint64
	exp         int64
}

// flowOf returns a whole number that is not negative. Of more than 192 bits it takes
// the first.
func flowOf(n *big.Int) flow {
	if n.IsUint64() {
		return flowOfUint(n.Uint64())
	}
	shift := n.BitLen() - precision
	m := new(big.Int)
	if shift >= 0 {
		m.Rsh(n, uint(shift))
	} else {
		m.Lsh(n, uint(-shift))
	}
	var b [precision / 8]byte
	m.FillBytes(b[:])
	return flow{hi: binary.BigEndian.Uint64(b[:]), mid: binary.BigEndian.Uint64(b[8:]), lo: binary.BigEndian.Uint64(b[16:]), exp: int64(shift)}
}

func flowOfUint(n uint64) flow {
	if n == 0 {
		return flow{}
	}
	zeros := bits.LeadingZeros64(n)
	return flow{hi: n << zeros, exp: int64(64 - precision - zeros)}
}

func (x *flow) isZero() bool { return x.hi == 0 }

// float returns the same number.
func (x *flow) float() *big.Float {
	var b [precision / 8]byte
	binary.BigEndian.PutUint64(b[:], x.hi)
	binary.BigEndian.PutUint64(b[8:], x.mid)
	binary.BigEndian.PutUint64(b[16:], x.lo)
	f := new(big.Float).SetPrec(precision).SetInt(new(big.Int).SetBytes(b[:]))
	return f.SetMantExp(f, int(x.exp))
}

// inverse returns 1/x; x is above 0.
func (x *flow) inverse() flow {
	f := x.float()
	f.Quo(new(big.Float).SetPrec(precision).SetInt64(1), f)
	exp := f.MantExp(f) - precision
	m, _ := f.SetMantExp(f, precision).Int(nil)
	inverse := flowOf(m) // m has 192 bits
	inverse.exp += int64(exp)
	return inverse
}

// mul returns x·y.
func (x *flow) mul(y *flow) flow {
	if x.hi == 0 || y.hi == 0 {
		return flow{}
	}
	// The product has six words, w5 first. What the three products of the last words add
	// to w2 is left out: less than two units of w3, four after the shift below.
	w5, w4 := bits.Mul64(x.hi, y.hi)
	h21, l21 := bits.Mul64(x.hi, y.mid)
	h12, l12 := bits.Mul64(x.mid, y.hi)
	h20, l20 := bits.Mul64(x.hi, y.lo)
	h11, l11 := bits.Mul64(x.mid, y.mid)
	h02, l02 := bits.Mul64(x.lo, y.hi)

	var c uint64
	w3, c := bits.Add64(l21, l12, 0)
	w4, c = bits.Add64(w4, h21, c)
	w5 += c
	w4, c = bits.Add64(w4, h12, 0)
	w5 += c
	w2, c := bits.Add64(l20, l11, 0)
	w3, c = bits.Add64(w3, h20, c)
	w4, c = bits.Add64(w4, 0, c)
	w5 += c
	w2, c = bits.Add64(w2, l02, 0)
	w3, c = bits.Add64(w3, h11, c)
	w4, c = bits.Add64(w4, 0, c)
	w5 += c
	w3, c = bits.Add64(w3, h02, 0)
	w4, c = bits.Add64(w4, 0, c)
	w5 += c

	exp := x.exp + y.exp + precision
	if w5>>63 == 0 {
		return flow{hi: w5<<1 | w4>>63, mid: w4<<1 | w3>>63, lo: w3<<1 | w2>>63, exp: exp - 1}
	}
	return flow{hi: w5, mid: w4, lo: w3, exp: exp}
}

// add adds y to x.
func (x *flow) add(y *flow) {
	if y.hi == 0 {
		return
	}
	if x.hi == 0 {
		*x = *y
		return
	}
	a, b := x, y
	if a.exp < b.exp {
		a, b = b, a
	}
	hi, mid, lo := b.hi, b.mid, b.lo
	d := uint64(a.exp - b.exp)
	for ; d >= 64; d -= 64 {
		if hi|mid == 0 {
			*x = *a
			return
		}
		hi, mid, lo = 0, hi, mid
	}
	lo = lo>>d | mid<<(64-d)
	mid = mid>>d | hi<<(64-d)
	hi >>= d

	exp := a.exp
	var c uint64
	lo, c = bits.Add64(a.lo, lo, 0)
	mid, c = bits.Add64(a.mid, mid, c)
	hi, c = bits.Add64(a.hi, hi, c)
	if c != 0 {
		lo, mid, hi = lo>>1|mid<<63, mid>>1|hi<<63, hi>>1|1<<63
		exp++
	}
	*x = flow{hi: hi, mid: mid, lo: lo, exp: exp}
}

// addMul adds a·b to x.
func (x *flow) addMul(a, b *flow) {
	product := a.mul(b)
	x.add(&product)
}
