package guard

import (
	"net"
	"time"
)

// Bounds of ReadRest. A client that pauses has written all, or waits.
const (
	restPause = 50 * time.Millisecond
)

// ReadRest reads on after a body that was refused, at most so many
// bytes, and not beyond the deadline that the whole request has. A connection that
// is closed with unread data is reset, and a client that is still writing would
// see the reset instead of its answer. It returns how many bytes it read.
func ReadRest(conn net.Conn, most int, deadline time.Time, now func() time.Time) (read int) {
	buffer := make([]byte, FreeBody)
	for read < most {
		pause := now().Add(restPause)
		if pause.After(deadline) {
			pause = deadline
		}
		if conn.SetReadDeadline(pause) != nil {
			return read
		}
		n, err := conn.Read(buffer)
		read += n
		if err != nil {
			return read
		}
	}
	return read
}
