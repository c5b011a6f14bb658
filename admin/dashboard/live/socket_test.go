package live

import "testing"

func TestAPageThatDoesNotKeepUpIsClosed(t *testing.T) {
	t.Parallel()
	s := &socket{queue: make(chan []byte, 2), done: make(chan struct{})}
	for range 2 {
		s.send([]byte("x"))
	}
	select {
	case <-s.done:
		t.Fatal("closed with room in its queue")
	default:
	}
	s.send([]byte("x"))
	<-s.done
	s.send([]byte("x")) // harmless afterwards
	s.close(closeGoingAway)
	if s.code != closeTooSlow {
		t.Errorf("closed with %d, want %d", s.code, closeTooSlow)
	}
}
