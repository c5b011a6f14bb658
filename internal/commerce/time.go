package commerce

import (
	"errors"
	"fmt"
	"time"
)

// Recordable reports whether an instant can be stored: from 1970, where Unix
// time begins, to the end of 2199, well inside what Postgres can hold. Other
// instants are refused before anything is acknowledged.
func Recordable(t time.Time) bool { return t.Year() >= 1970 && t.Year() < 2200 }

// Earlier is the earlier of two instants: the first where both are one.
func Earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Later is the later of two instants: the first where both are one.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// ErrBadDay refuses text that is no day on which something can be recorded.
var ErrBadDay = errors.New("is not a day of the years 1970 to 2199, written YYYY-MM-DD")

// ParseDay reads a day, YYYY-MM-DD, and returns its first instant in a time zone.
func ParseDay(text string, zone *time.Location) (time.Time, error) {
	day, err := time.ParseInLocation(time.DateOnly, text, zone)
	if err != nil || !Recordable(day) {
		return time.Time{}, fmt.Errorf("%.40q %w", text, ErrBadDay)
	}
	return day, nil
}
