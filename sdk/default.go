package sdk

import (
	"context"
	"errors"
	"sync"
)

// ErrNotInitialised is returned by the package's functions before Init and after
// Close.
var ErrNotInitialised = errors.New("sdk: Init was not called")

// shared is the client of Init. It is the package's only global variable: Track can
// be called from anywhere in a program.
var shared struct {
	sync.Mutex
	client *Client
}

// Init starts the client of the package's functions. It returns an error if there
// is one already.
func Init(cfg Config) error {
	shared.Lock()
	defer shared.Unlock()
	if shared.client != nil {
		return errors.New("sdk: Init was called already")
	}
	client, err := New(cfg)
	if err != nil {
		return err
	}
	shared.client = client
	return nil
}

func current() (*Client, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.client == nil {
		return nil, ErrNotInitialised
	}
	return shared.client, nil
}

// Track is Client.Track of the client that Init started.
func Track(ctx context.Context, event string, payload any, identity Identity) error {
	client, err := current()
	if err != nil {
		return err
	}
	return client.Track(ctx, event, payload, identity)
}

// Flush is Client.Flush of the client that Init started.
func Flush(ctx context.Context) error {
	client, err := current()
	if err != nil {
		return err
	}
	return client.Flush(ctx)
}

// Close is Client.Close of the client that Init started. After it, Init may be
// called again.
func Close(ctx context.Context) error {
	client, err := current()
	if err != nil {
		return err
	}
	err = client.Close(ctx)
	shared.Lock()
	defer shared.Unlock()
	if shared.client == client {
		shared.client = nil
	}
	return err
}
