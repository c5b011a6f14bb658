// Package explained writes the explanations of orders as the table payout has them, and the
// snapshots of orders: JSON, compressed by zstd with one dictionary.
//
// What may enter: these bytes. The dictionary never changes: another one gets another number.
package explained

import (
	_ "embed"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// dictionary are five explanations of internal/attribution/testdata, and two orders with five
// touches each and a payout, as shops have them. Its names and ids are made up. It never changes.
//
//go:embed dictionary.txt
var dictionary []byte

// dictionaryID names the dictionary in a frame, which any number does that is not 0.
const dictionaryID = 1

// maxText bounds what is read of one explanation, in bytes: far above what an order's
// explanation can have, and as much as PostgreSQL takes as jsonb.
const maxText = 256 << 20

var encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderDictRaw(dictionaryID, dictionary), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
})

var decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderDictRaw(dictionaryID, dictionary), zstd.WithDecoderMaxMemory(maxText),
		zstd.WithDecoderConcurrency(0))
})

// Pack returns a text as it is stored: a frame of zstd (RFC 8878). text is JSON.
func Pack(text []byte) ([]byte, error) {
	e, err := encoder()
	if err != nil {
		return nil, fmt.Errorf("explanation: %w", err)
	}
	return e.EncodeAll(text, make([]byte, 0, len(text)/4)), nil
}

// Unpack returns the text that Pack was given.
func Unpack(stored []byte) ([]byte, error) {
	if len(stored) == 0 {
		return nil, errors.New("explanation: nothing is stored")
	}
	d, err := decoder()
	if err != nil {
		return nil, fmt.Errorf("explanation: %w", err)
	}
	text, err := d.DecodeAll(stored, nil)
	if err != nil {
		return nil, fmt.Errorf("explanation: %w", err)
	}
	return text, nil
}
