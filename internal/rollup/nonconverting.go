package rollup

// MaxSteps is how many different steps the non-converting paths of a day have at most. A
// store with 100 influencers has some 2,000; a stranger who follows every link in every
// order can make the square of their number.
const MaxSteps = 10_000

// Steps counts the non-converting paths that took each step: from a channel ("": the start) to a
// channel ("": none follows). A channel that follows itself is no step, as in a JourneyKey. They are
// stored as JSON. nil has none.
type Steps map[string]map[string]int64

// Add adds one journey by its path, which is not empty. It returns false, and adds nothing,
// where that would make more than MaxSteps different steps.
func (s *Steps) Add(path []string) bool {
	type step struct{ before, channel string }
	var steps []step
	before := ""
	for _, channel := range path {
		if channel != before {
			steps = append(steps, step{before, channel})
		}
		before = channel
	}
	steps = append(steps, step{before: before})
	fresh := map[step]bool{}
	for _, x := range steps {
		if (*s)[x.before][x.channel] == 0 {
			fresh[x] = true
		}
	}
	if len(fresh) > 0 && s.count()+len(fresh) > MaxSteps {
		return false
	}
	if *s == nil {
		*s = Steps{}
	}
	for _, x := range steps {
		if (*s)[x.before] == nil {
			(*s)[x.before] = map[string]int64{}
		}
		(*s)[x.before][x.channel]++
	}
	return true
}

// count is how many different steps there are.
func (s *Steps) count() (n int) {
	for _, channels := range *s {
		n += len(channels)
	}
	return n
}
