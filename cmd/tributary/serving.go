package main

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// listen is net.Listen on TCP, with an error that names the flag.
func listen(flag, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use: stop what listens there, or give another --%s", addr, flag)
	}
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	return l, nil
}
