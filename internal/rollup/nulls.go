package rollup

import (
	"cmp"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
)

// MaxNullSteps is how many different steps the null journeys of a day have at most. A
// store with 100 influencers has some 2,000; a stranger who follows every link in every
// order can make the square of their number.
const MaxNullSteps = 10_000

// NullStep is a step of null journeys: from the channel Before ("": the start) to Channel
// ("": none follows).
type NullStep struct{ Before, Channel string }

// NullSteps counts the null journeys that took each step. A channel that follows itself is
// no step, as in a JourneyKey. The zero value has none.
type NullSteps struct {
	counts map[NullStep]int64
}

// Add adds one journey by its path, which is not empty. It returns false, and adds nothing,
// where that would make more than MaxNullSteps different steps.
func (s *NullSteps) Add(path []string) bool {
	var steps []NullStep
	before := ""
	for _, channel := range path {
		if channel != before {
			steps = append(steps, NullStep{before, channel})
		}
		before = channel
	}
	steps = append(steps, NullStep{Before: before})
	fresh := map[NullStep]bool{}
	for _, step := range steps {
		if s.counts[step] == 0 {
			fresh[step] = true
		}
	}
	if len(s.counts)+len(fresh) > MaxNullSteps {
		return false
	}
	if s.counts == nil {
		s.counts = map[NullStep]int64{}
	}
	for _, step := range steps {
		s.counts[step]++
	}
	return true
}

// Each calls visit with every step and how many journeys took it, in the order of steps.
func (s *NullSteps) Each(visit func(step NullStep, journeys int64)) {
	for _, step := range s.steps() {
		visit(step, s.counts[step])
	}
}

func (s *NullSteps) steps() []NullStep {
	return slices.SortedFunc(maps.Keys(s.counts), func(a, b NullStep) int {
		return cmp.Or(cmp.Compare(a.Before, b.Before), cmp.Compare(a.Channel, b.Channel))
	})
}

// nullStepsForm is the first byte of packed steps. Another form gets another number.
const nullStepsForm = 1

// Pack returns the steps as they are stored: the names of the channels, ordered, then of
// each step the places of both channels among them (0: none) and the number. All numbers
// are varints. Of no steps it is empty.
func (s *NullSteps) Pack() []byte {
	if len(s.counts) == 0 {
		return []byte{}
	}
	places := map[string]uint64{}
	for step := range s.counts {
		places[step.Before], places[step.Channel] = 0, 0
	}
	delete(places, "")
	names := slices.Sorted(maps.Keys(places))
	packed := binary.AppendUvarint([]byte{nullStepsForm}, uint64(len(names)))
	for i, name := range names {
		places[name] = uint64(i + 1)
		packed = append(binary.AppendUvarint(packed, uint64(len(name))), name...)
	}
	for _, step := range s.steps() {
		packed = binary.AppendUvarint(packed, places[step.Before])
		packed = binary.AppendUvarint(packed, places[step.Channel])
		packed = binary.AppendUvarint(packed, uint64(s.counts[step]))
	}
	return packed
}

// errNullSteps says that bytes are no steps that were packed.
var errNullSteps = errors.New("packed steps of null journeys cannot be read")

// UnpackNullSteps reads what Pack has written.
func UnpackNullSteps(packed []byte) (s NullSteps, err error) {
	s.counts = map[NullStep]int64{}
	var names []string
	err = EachNullStep(packed, func(name []byte) error {
		names = append(names, string(name))
		return nil
	}, func(before, channel int, journeys int64) error {
		var step NullStep
		if before >= 0 {
			step.Before = names[before]
		}
		if channel >= 0 {
			step.Channel = names[channel]
		}
		s.counts[step] = journeys
		return nil
	})
	return s, err
}

// EachNullStep reads what Pack has written: it calls name with each channel, then step with
// each step. There the channels are places among the names, from 0; -1 is none.
func EachNullStep(packed []byte, name func(name []byte) error, step func(before, channel int, journeys int64) error) error {
	if len(packed) == 0 {
		return nil
	}
	if packed[0] != nullStepsForm {
		return errNullSteps
	}
	rest, bad := packed[1:], false
	number := func() uint64 {
		n, size := binary.Uvarint(rest)
		if size <= 0 {
			bad = true
			return 0
		}
		rest = rest[size:]
		return n
	}
	names := number()
	for range names {
		size := number()
		if bad || size > uint64(len(rest)) {
			return errNullSteps
		}
		if err := name(rest[:size]); err != nil {
			return err
		}
		rest = rest[size:]
	}
	for len(rest) > 0 && !bad {
		before, channel, journeys := number(), number(), number()
		if bad || before > names || channel > names || journeys > 1<<62 {
			return errNullSteps
		}
		if err := step(int(before)-1, int(channel)-1, int64(journeys)); err != nil {
			return err
		}
	}
	if bad {
		return errNullSteps
	}
	return nil
}
