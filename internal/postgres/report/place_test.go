package report

import (
	"errors"
	"testing"
	"time"
)

// Which of the primary's places a standby has passed, by numbers.
func TestAPlaceOfAStandby(t *testing.T) {
	t.Parallel()
	ours, others := identity{system: 1, database: "db"}, identity{system: 2, database: "db"}
	s := &Standby{mostAge: time.Minute}
	want := func(standby place, is identity, lsn int64, problem error) {
		t.Helper()
		if p, err := s.passed(standby, is); !errors.Is(err, problem) || err == nil && p.lsn != lsn {
			t.Errorf("a standby at %d has passed %d, %v; want %d, %v", standby.lsn, p.lsn, err, lsn, problem)
		}
	}
	look := func(standby, primary int64) {
		s.compare(place{lsn: standby}, place{lsn: primary})
		s.is, s.places = ours, append(s.places, place{lsn: primary, seen: time.Now()})
	}
	at := func(lsn int64) place { return place{lsn: lsn, standby: true} }

	want(place{}, ours, 0, errNoStandby)
	want(at(100), ours, 0, errNoPrimary)
	look(100, 100)
	look(110, 120)
	want(at(0), ours, 0, errOldStandby)
	want(at(119), ours, 100, nil)
	want(at(120), ours, 120, nil)
	want(at(130), ours, 120, nil) // the primary went on since it was asked
	want(at(120), others, 0, errOtherStandby)

	// The primary is another one, which did not have what this standby has.
	s.places = nil
	look(130, 125)
	want(at(130), ours, 0, errDiverged)
	look(130, 140) // it has passed the standby
	want(at(130), ours, 0, errDiverged)
	want(at(128), ours, 125, nil) // it was put right
	look(150, 150)
	want(at(150), ours, 150, nil)

	s.mostAge = 0
	want(at(150), ours, 0, errOldStandby)
}
