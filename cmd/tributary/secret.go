package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/background"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
)

// secretPause is how often an admin looks whether its hashing secret fits, until it does.
const secretPause = 2 * time.Second

// secretCheck compares an admin's hashing secrets with those that the companies of directory.v1 have. What an admin
// publishes carries its own: with a wrong one, every edge would refuse all companies.
type secretCheck struct {
	log    *slog.Logger
	client *kafka.Client
	hasher *identity.Hasher

	mu    sync.Mutex
	known bool  // the directory was read, and had a company
	wrong error // nil: fits, or is not known
}

// state returns admin.ErrWrongHashingSecret where the last reading said so.
func (c *secretCheck) state(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wrong
}

// ask reads the directory. An error of the reading leaves the state as it was.
func (c *secretCheck) ask(ctx context.Context) error {
	companies := map[string]bool{} // whose secret is another; small where all is well
	found := false                 // a company that tells which secret it has
	err := readDirectory(ctx, c.client, func(key string, value []byte) {
		id, isCompany := strings.CutPrefix(key, wire.CompanyKeyPrefix)
		if !isCompany {
			return
		}
		delete(companies, id)
		var record wire.Company
		if len(value) == 0 || json.Unmarshal(value, &record) != nil || record.KeyCheck == "" {
			return
		}
		found = true
		if !c.hasher.Fits(id, record.KeyCheck, record.FormerKeyCheck) {
			companies[id] = true
		}
	})
	if err != nil {
		return err
	}
	var wrong error
	for id := range companies {
		wrong = fmt.Errorf("%w: %d companies of %s are of another one, such as %s",
			admin.ErrWrongHashingSecret, len(companies), c.client.Named(wire.TopicDirectory), id)
		break
	}
	c.mu.Lock()
	was := c.wrong
	c.known, c.wrong = found, wrong
	c.mu.Unlock()
	switch {
	case wrong != nil && was == nil:
		c.log.Error("this admin has the wrong hashing secret, and publishes nothing: give it the installation's --hashing-secret-file, "+
			"or beside a new one --previous-hashing-secret-file (docs/operations.md, Rotate the hashing secret), and start it again", "error", wrong)
	case wrong == nil && was != nil:
		c.log.Info("the hashing secret fits the directory now")
	}
	return wrong
}

// beforePublishing reads the directory, except where run does so until the secret fits: it is not to be read with each
// try to publish.
func (c *secretCheck) beforePublishing(ctx context.Context) error {
	if err := c.state(ctx); err != nil {
		return err
	}
	return c.ask(ctx)
}

// run reads the directory again and again while the secret is a wrong one or nothing is known, until ctx ends. Of a directory
// without a company nothing is known.
func (c *secretCheck) run(ctx context.Context) error {
	for {
		if !background.Sleep(ctx, secretPause) {
			return nil
		}
		c.mu.Lock()
		fits := c.known && c.wrong == nil
		c.mu.Unlock()
		if fits {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, installationTimeout)
		_ = c.ask(limited) // it keeps what it found, and says what has changed
		cancel()
	}
}
