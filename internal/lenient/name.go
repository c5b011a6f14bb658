package lenient

import "strings"

// Letters returns a field's or column's name as it is compared with another: in lower case,
// without what separates words.
func Letters(name string) string { return separators.Replace(strings.ToLower(name)) }

var separators = strings.NewReplacer("_", "", "-", "", " ", "", ".", "")

// Distance returns how many bytes must be put in, taken out or replaced to make one text of
// another (Levenshtein).
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}

// Nearest returns the one of names that an unknown name was probably meant to be; "" where there
// is none. What differs only in case and separators comes before what differs in letters.
func Nearest(name string, names []string) string {
	if len(name) > maxCompared {
		return ""
	}
	letters, best, least := Letters(name), "", maxSlips+1
	for _, known := range names {
		want := Letters(known)
		if max(len(letters)-len(want), len(want)-len(letters)) >= least { // as many slips at least
			continue
		}
		if slips := Distance(letters, want); slips < least && slips < len(want)/2 {
			best, least = known, slips
		}
	}
	return best
}

const (
	maxSlips    = 2  // in so many letters an unknown name may differ from the one that is meant
	maxCompared = 64 // bytes of a name that is compared with known ones
)
