package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/admin/dashboard"
	"github.com/tributary-io/tributary/edge"
	"github.com/tributary-io/tributary/internal/devstack/storefront"
	"github.com/tributary-io/tributary/processor"
)

// startServices starts what a real installation runs, and the shop.
func (d *dev) startServices(ctx context.Context) error {
	shop, err := storefront.New(storefront.Config{
		EdgeURL: d.info.EdgeURL, CompanyID: d.info.CompanyID, AdminURL: d.info.AdminURL, APIKey: d.info.APIKey,
		DashboardURL: d.info.DashboardURL, Coupons: demoCoupons(), Log: d.log,
	})
	if err != nil {
		return err
	}
	d.start(ctx, service{"processor", func(ctx context.Context) error {
		return runProcessor(ctx, processorSetup{config: processor.Config{}, kafka: d.kafka("processor"), dsn: d.dsn, log: d.log})
	}})
	d.start(ctx, service{"admin", func(ctx context.Context) error {
		return runAdmin(ctx, adminSetup{
			config: admin.Config{
				ShortBase: reached(d.listeners.edge) + "/s", AcceptUnresolved: true,
				// Trying out includes importing a history; the real limits are for real shops.
				IngestRate: admin.Rate{PerSecond: 2000, Burst: 4000}, RuleRate: admin.Rate{PerSecond: 200, Burst: 400},
			},
			dashboard: dashboard.Config{TokenSecret: []byte(d.secrets.Token)},
			kafka:     d.kafka("admin"), dsn: d.dsn, hasher: d.hasher, listener: d.listeners.admin, log: d.log,
		})
	}})
	d.start(ctx, service{"edge", func(ctx context.Context) error {
		return runEdge(ctx, edgeSetup{
			config: edge.Config{
				SnapshotFile: filepath.Join(d.config.data, "directory.json"),
				RewriteHosts: map[string]string{demoHost: d.info.StorefrontURL},
			},
			kafka: d.kafka("edge"), hasher: d.hasher, listener: d.listeners.edge, log: d.log,
		})
	}})
	d.start(ctx, service{"storefront", func(ctx context.Context) error { return shop.Serve(ctx, d.listeners.storefront) }})
	for _, ready := range []struct {
		url   string
		judge func(body []byte) bool
	}{
		{origin(d.listeners.admin) + "/readyz", anyBody},
		{d.info.EdgeURL + "/readyz", knowsBothCompanies},
		{d.info.StorefrontURL, anyBody},
	} {
		if err := d.await(ctx, ready.url, ready.judge); err != nil {
			return err
		}
	}
	return nil
}

func anyBody([]byte) bool { return true }

// knowsBothCompanies reads the edge's /readyz: a new store's companies, live
// and sandbox, reach it by directory.v1 a moment after it is ready, and until
// then it would refuse their events as nobody's.
func knowsBothCompanies(body []byte) bool {
	var ready struct {
		Directory struct{ Companies int }
	}
	return json.Unmarshal(body, &ready) == nil && ready.Directory.Companies >= 2
}

func (d *dev) start(ctx context.Context, s service) {
	d.running = append(d.running, start(ctx, s, d.log))
}

// readyTimeout bounds a service's start: it has only to connect and to read the directory.
const readyTimeout = 60 * time.Second

// await waits until a URL answers 200 with a body that judge accepts, or a
// service ends.
func (d *dev) await(ctx context.Context, url string, judge func(body []byte) bool) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	client := &http.Client{Timeout: 5 * time.Second}
	last := "no answer"
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if response, err := client.Do(request); err == nil {
			text, _ := io.ReadAll(io.LimitReader(response.Body, 2000))
			response.Body.Close()
			if response.StatusCode == http.StatusOK && judge(text) {
				return nil
			}
			last = response.Status + " " + string(text)
		}
		if err := d.ended(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w (%s)", url, ctx.Err(), last)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// ended tells whether a part of us has ended by itself.
func (d *dev) ended() error {
	select {
	case <-d.postgres.Done():
		return fmt.Errorf("PostgreSQL ended by itself: see %s", d.postgresLog)
	default:
	}
	for _, r := range d.running {
		select {
		case <-r.done:
			if r.err != nil {
				return fmt.Errorf("%s: %w", r.name, r.err)
			}
			return fmt.Errorf("%s ended by itself", r.name)
		default:
		}
	}
	return nil
}

// wait returns nil at ctx's end, or the error of a part that ended before.
func (d *dev) wait(ctx context.Context) error {
	failed := make(chan struct{}, len(d.running)+1)
	watch := func(done <-chan struct{}) {
		select {
		case <-done:
			failed <- struct{}{}
		case <-ctx.Done():
		}
	}
	go watch(d.postgres.Done())
	for _, r := range d.running {
		go watch(r.done)
	}
	select {
	case <-ctx.Done():
		return nil
	case <-failed:
		return d.ended()
	}
}

// stop ends everything in the reverse order of its start: the doors first,
// then what stands behind them.
func (d *dev) stop(ctx context.Context, err error) error {
	interrupted := ctx.Err() != nil
	if interrupted {
		fmt.Fprintln(d.out, "\nStopping …")
	}
	// First of all: who waits for dev.json, or finds it, must not see a dead one.
	// What the next start needs is in secrets.json.
	if removeErr := os.Remove(d.infoFile()); removeErr != nil && !errors.Is(removeErr, os.ErrNotExist) && err == nil {
		err = removeErr
	}
	for i := len(d.running) - 1; i >= 0; i-- {
		// A part that failed has been told already; one that stops badly is told now.
		if stopErr := d.running[i].stop(); stopErr != nil && err == nil {
			err = fmt.Errorf("%s: %w", d.running[i].name, stopErr)
		}
	}
	for _, l := range []net.Listener{d.listeners.edge, d.listeners.admin, d.listeners.storefront} {
		if l != nil {
			l.Close() // closed already where its service ran
		}
	}
	if d.broker != nil {
		d.broker.Stop()
	}
	if d.postgres != nil {
		d.postgres.Stop()
	}
	if interrupted && errors.Is(err, context.Canceled) {
		return nil // stopped while starting: as asked
	}
	return err
}

// openDB is a pool of dev's own, for what the services do not do.
func (d *dev) openDB(ctx context.Context) (stores, error) { return openStores(ctx, d.dsn) }
