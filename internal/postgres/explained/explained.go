// Package explained writes the explanations of orders as the table explanation has them:
// in few bytes, and read back exactly.
//
// What may enter: forms of these bytes. What was written once must be readable for ever: a
// new form, or another dictionary, gets a new first byte.
package explained

import (
	_ "embed"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Forms of an explanation: its first byte.
const (
	// formPlain is followed by the JSON text. Migration 0018 made what was there of this form.
	formPlain = 0
	// formZstd1 is followed by a frame of zstd (RFC 8878) with dictionary1.
	formZstd1 = 1
	// formZstd2 is followed by a frame of zstd with dictionary2.
	formZstd2 = 2
)

// dictionary1 are three explanations of internal/attribution/testdata as they were when
// the form was made. It never changes.
//
//go:embed dictionary1.txt
var dictionary1 []byte

// dictionary2 is dictionary1, and two orders with five touches each and a payout, as shops
// have them. Its names and ids are made up. It never changes.
//
//go:embed dictionary2.txt
var dictionary2 []byte

// What names the dictionaries in a frame, which any number does that is not 0.
const (
	dictionaryID1 = 1
	dictionaryID2 = 2
)

// maxText bounds what is read of one explanation, in bytes: far above what an order's
// explanation can have, and as much as PostgreSQL took as jsonb.
const maxText = 256 << 20

var encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderDictRaw(dictionaryID2, dictionary2), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
})

var decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderDictRaw(dictionaryID1, dictionary1), zstd.WithDecoderDictRaw(dictionaryID2, dictionary2), zstd.WithDecoderMaxMemory(maxText), zstd.WithDecoderConcurrency(0))
})

// Pack returns an explanation as it is stored. text is JSON.
func Pack(text []byte) ([]byte, error) {
	e, err := encoder()
	if err != nil {
		return nil, fmt.Errorf("explanation: %w", err)
	}
	return e.EncodeAll(text, append(make([]byte, 0, len(text)/4), formZstd2)), nil
}

// Unpack returns the text that Pack was given.
func Unpack(stored []byte) ([]byte, error) {
	if len(stored) == 0 {
		return nil, errors.New("explanation: nothing is stored")
	}
	switch form, rest := stored[0], stored[1:]; form {
	case formPlain:
		return rest, nil
	case formZstd1, formZstd2: // a frame says with which dictionary
		d, err := decoder()
		if err != nil {
			return nil, fmt.Errorf("explanation: %w", err)
		}
		text, err := d.DecodeAll(rest, nil)
		if err != nil {
			return nil, fmt.Errorf("explanation: %w", err)
		}
		return text, nil
	default:
		return nil, fmt.Errorf("explanation: form %d is not known: a newer version of the program wrote it", form)
	}
}
