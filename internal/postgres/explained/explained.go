// Package explained writes the explanations of orders as the table payout has them, and the
// seals of orders: in few bytes, and read back exactly.
//
// What may enter: forms of these bytes. What was written once must be readable for ever: a
// new form, or another dictionary, gets a new first byte.
package explained

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Forms of an explanation: its first byte.
const (
	// formWhole is followed by a frame of zstd (RFC 8878) of the JSON text, with dictionaryWhole.
	formWhole = 1
	// formShort is followed by the number of ids (a byte), by these ids of 16 bytes, and by a
	// frame of zstd with dictionaryShort of the short text, without the first 4 bytes that all
	// frames have.
	formShort = 2
)

// dictionaryWhole are three explanations of internal/attribution/testdata, and two orders with five
// touches each and a payout, as shops have them. Its names and ids are made up. It never changes.
//
//go:embed whole.txt
var dictionaryWhole []byte

// dictionaryShort are the short forms of such explanations, and the sentence of each reason. It never
// changes.
//
//go:embed short.txt
var dictionaryShort []byte

// What names the dictionaries in a frame, which any number does that is not 0.
const (
	dictionaryWholeID = 1
	dictionaryShortID = 2
)

// magic begins each frame of zstd (RFC 8878, 3.1.1).
var magic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// maxText bounds what is read of one explanation, in bytes: far above what an order's
// explanation can have, and as much as PostgreSQL took as jsonb.
const maxText = 256 << 20

var (
	encoderWhole = encoderOf(dictionaryWholeID, dictionaryWhole)
	encoderShort = encoderOf(dictionaryShortID, dictionaryShort)
)

func encoderOf(id uint32, dictionary []byte) func() (*zstd.Encoder, error) {
	return sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithEncoderDictRaw(id, dictionary), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false),
			zstd.WithLowerEncoderMem(true))
	})
}

var decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil,
		zstd.WithDecoderDictRaw(dictionaryWholeID, dictionaryWhole), zstd.WithDecoderDictRaw(dictionaryShortID, dictionaryShort),
		zstd.WithDecoderMaxMemory(maxText), zstd.WithDecoderConcurrency(0))
})

// Pack returns an explanation as it is stored. text is JSON.
func Pack(text []byte) ([]byte, error) {
	short, ids, ok := shorten(text)
	if !ok {
		return PackWhole(text)
	}
	e, err := encoderShort()
	if err != nil {
		return nil, fmt.Errorf("explanation: %w", err)
	}
	stored := append(make([]byte, 0, 64+len(ids)+len(text)/8), formShort, byte(len(ids)/idBytes))
	stored = append(stored, ids...)
	begin := len(stored)
	stored = e.EncodeAll(short, stored)
	if !bytes.HasPrefix(stored[begin:], magic) { // of nothing there is no frame
		return PackWhole(text)
	}
	return slices.Delete(stored, begin, begin+len(magic)), nil
}

// PackWhole returns a text as it is stored without a short form. Seals have it.
func PackWhole(text []byte) ([]byte, error) {
	e, err := encoderWhole()
	if err != nil {
		return nil, fmt.Errorf("explanation: %w", err)
	}
	return e.EncodeAll(text, append(make([]byte, 0, len(text)/4), formWhole)), nil
}

// Unpack returns the text that Pack or PackWhole was given.
func Unpack(stored []byte) ([]byte, error) {
	if len(stored) == 0 {
		return nil, errors.New("explanation: nothing is stored")
	}
	switch form, rest := stored[0], stored[1:]; form {
	case formWhole: // a frame says with which dictionary
		return decode(rest)
	case formShort:
		if len(rest) == 0 || len(rest) <= int(rest[0])*idBytes {
			return nil, errors.New("explanation: its ids are cut off")
		}
		ids, frame := rest[1:1+int(rest[0])*idBytes], rest[1+int(rest[0])*idBytes:]
		short, err := decode(slices.Concat(magic, frame))
		if err != nil {
			return nil, err
		}
		text, ok := lengthen(short, ids)
		if !ok {
			return nil, errors.New("explanation: bytes that stand for nothing")
		}
		return text, nil
	default:
		return nil, fmt.Errorf("explanation: form %d is not known: a newer version of the program wrote it", form)
	}
}

func decode(frame []byte) ([]byte, error) {
	d, err := decoder()
	if err != nil {
		return nil, fmt.Errorf("explanation: %w", err)
	}
	text, err := d.DecodeAll(frame, nil)
	if err != nil {
		return nil, fmt.Errorf("explanation: %w", err)
	}
	return text, nil
}
