package dev

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/tributary-io/tributary/dev/demo"
	"github.com/tributary-io/tributary/dev/storefront"
	"github.com/tributary-io/tributary/internal/background"
)

// startServices starts what a real installation runs, and the shop, and returns
// once all of them are ready.
func (p *program) startServices(ctx context.Context) error {
	shop, err := storefront.New(storefront.Config{
		EdgeURL: p.info.EdgeURL, CompanyID: p.info.CompanyID, AdminURL: p.info.AdminURL, APIKey: p.info.APIKey,
		DashboardURL: p.info.DashboardURL, Coupons: demo.Coupons(), Log: p.Log,
	})
	if err != nil {
		return err
	}
	for _, s := range []struct {
		name     string
		run      func(context.Context, Environment) error
		listener net.Listener
	}{
		{"processor", p.services.Processor, nil},
		{"admin", p.services.Admin, p.listeners.admin},
		{"edge", p.services.Edge, p.listeners.edge},
		{"connect", p.services.Connect, p.listeners.connect},
	} {
		environment := p.environment(s.name, s.listener)
		p.start(ctx, s.name, func(ctx context.Context) error { return s.run(ctx, environment) })
	}
	p.start(ctx, "storefront", func(ctx context.Context) error { return shop.Serve(ctx, p.listeners.storefront) })
	for _, service := range []struct {
		url   string
		ready func(body []byte) bool
	}{
		{origin(p.listeners.admin) + "/readyz", anyBody},
		{p.info.EdgeURL + "/readyz", knowsBothCompanies},
		{origin(p.listeners.connect) + "/readyz", anyBody},
		{p.info.StorefrontURL, anyBody},
	} {
		if err := p.await(ctx, service.url, service.ready); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) environment(service string, listener net.Listener) Environment {
	connectURL := ""
	if p.Notices {
		connectURL = origin(p.listeners.connect)
	}
	return Environment{
		AdminURL: origin(p.listeners.admin), ConnectURL: connectURL, ConnectKeys: filepath.Join(p.Dir, "connect.key"),
		Kafka: p.kafka(service), DSN: p.dsn, Hasher: p.hasher, Log: p.Log, Listener: listener,
		TokenSecret:  []byte(p.secrets.Token),
		ShortBase:    addressOf(p.listeners.edge) + "/s",
		Snapshot:     filepath.Join(p.Dir, "directory.json"),
		Spool:        filepath.Join(p.Dir, "spool"),
		RewriteHosts: map[string]string{demo.Host: p.info.StorefrontURL},
	}
}

func (p *program) start(ctx context.Context, name string, run func(context.Context) error) {
	p.tasks = append(p.tasks, background.Start(ctx, p.Log, name, run))
}

func anyBody([]byte) bool { return true }

// knowsBothCompanies reads the edge's /readyz. The edge learns of a new store's
// companies, live and sandbox, by directory.v1, a moment after it is ready. Until
// then it refuses their events. It is fresh once no more companies come: from
// then on it tells an unknown company from one that it does not know yet.
func knowsBothCompanies(body []byte) bool {
	var answer struct {
		Directory struct {
			Companies int
			Fresh     bool
		}
	}
	return json.Unmarshal(body, &answer) == nil && answer.Directory.Companies >= 2 && answer.Directory.Fresh
}

// readyTimeout bounds the start of a service. It only connects and reads the directory.
const readyTimeout = 60 * time.Second

// await waits until a URL answers 200 with a body that ready accepts, or a
// service ends.
func (p *program) await(ctx context.Context, url string, ready func(body []byte) bool) error {
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
			_ = response.Body.Close() // it is asked again, or was enough
			if response.StatusCode == http.StatusOK && ready(text) {
				return nil
			}
			last = response.Status + " " + string(text)
		}
		if err := p.ended(); err != nil {
			return err
		}
		if !background.Sleep(ctx, 20*time.Millisecond) {
			return fmt.Errorf("%s is not ready: %w (%s)", url, ctx.Err(), last)
		}
	}
}
