package copied

import (
	"strings"
	"testing"
)

func TestMovesOfTwoOwnersAtATimeAreFound(t *testing.T) {
	t.Parallel()
	one := func(epoch, from, to int64, process string) Moved {
		return Moved{Topic: "events.v1", Epoch: epoch, From: from, To: to, Process: process}
	}
	f := func(want string, moves ...Moved) {
		t.Helper()
		if got := strings.Join(OwnerProblems(moves), "; "); got != want {
			t.Errorf("found %q, want %q", got, want)
		}
	}
	f("", one(1, 0, 0, "a"), one(1, 0, 5, "a"), one(2, 5, 5, "b"), one(2, 5, 9, "b"), one(3, 9, 9, "a"), one(3, 9, 9, "a"))
	f("", one(1, 0, 5, "a"), Moved{Topic: "events.v1", Partition: 1, Epoch: 1, To: 3, Process: "b"})
	f("events.v1/0: a of epoch 1 committed after b of epoch 2", one(1, 0, 5, "a"), one(2, 5, 5, "b"), one(1, 5, 9, "a"))
	f("events.v1/0: a and b both committed in epoch 1", one(1, 0, 5, "a"), one(1, 5, 9, "b"))
	f("events.v1/0: b moved the offset from 3, where it was 5", one(1, 0, 5, "a"), one(2, 3, 9, "b"))
	f("events.v1/0: b moved the offset from 7, where it was 5", one(1, 0, 5, "a"), one(2, 7, 9, "b"))
	f("events.v1/0: a moved the offset from 2, where it was 0", one(1, 2, 5, "a"))
	f("events.v1/0: a moved the offset back from 5 to 0", one(1, 0, 5, "a"), one(1, 5, 0, "a"))
}
