package facts

import (
	"crypto/sha256"
	"encoding/binary"
)

// hashLength is how much of a SHA-256 is stored, in bytes: by chance two outcomes of an
// order have the same 16 once in 2^128.
const hashLength = 16

// hash returns the SHA-256, cut to hashLength, of an outcome whose explanation has the given text. All values
// are written one after the other, each text and each list after its length, so that no
// two outcomes have the same bytes.
func (o *Outcome) hash(explanation []byte) []byte {
	w := hashed(make([]byte, 0, len(explanation)+1024))
	w.text(string(explanation))
	w.texts(o.OrderID, o.Currency, o.Day)
	w.numbers(int64(o.Status), o.TotalMinor)
	w.numbers(int64(len(o.Credits)))
	for _, c := range o.Credits {
		w.numbers(int64(c.Position))
		w.texts(c.TouchID, c.Channel, c.InfluencerID, c.CampaignID)
		for _, p := range c.Parts {
			if p.Given {
				w.numbers(1, p.Minor)
			} else {
				w.numbers(0)
			}
		}
	}
	p := &o.Payout
	w.texts(string(p.State), string(p.Reason), p.InfluencerID, p.CampaignID, string(p.Evidence), p.CouponID, string(p.Proof), p.PayableOn)
	w.numbers(p.BaseMinor, p.CommissionMinor, p.FixedBRLMinor)
	w.numbers(int64(len(o.Lines)))
	for _, l := range o.Lines {
		w.texts(l.InfluencerID, l.CampaignID, l.CostID, l.Currency, l.PayableOn)
		w.numbers(l.AmountMinor)
	}
	w.keys(o.FoundBy)
	w.keys(o.Hubs)
	sum := sha256.Sum256(w)
	return sum[:hashLength]
}

// hashed is what is hashed.
type hashed []byte

func (w *hashed) numbers(list ...int64) {
	for _, n := range list {
		*w = binary.AppendVarint(*w, n)
	}
}

func (w *hashed) texts(list ...string) {
	for _, text := range list {
		w.text(text)
	}
}

func (w *hashed) text(text string) {
	*w = append(binary.AppendVarint(*w, int64(len(text))), text...)
}

func (w *hashed) keys(list []OrderKey) {
	w.numbers(int64(len(list)))
	for _, k := range list {
		w.texts(string(k.Kind), k.Value, k.OrderID, string(k.Hub))
		w.numbers(k.CreatedAt.Unix(), int64(k.CreatedAt.Nanosecond()))
	}
}
