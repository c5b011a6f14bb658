package commerce

import "time"

// Recordable tells whether an instant can be a fact's: from 1970, where Unix
// time begins, to the end of 2199, well inside what every store can hold. The
// doors refuse other instants, so that nothing acknowledged is refused later.
func Recordable(t time.Time) bool { return t.Year() >= 1970 && t.Year() < 2200 }
