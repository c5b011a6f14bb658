package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tributary-io/tributary/connect"
	"github.com/tributary-io/tributary/connect/network"
	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/connect/platforms"
	"github.com/tributary-io/tributary/connect/webhook"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/atomicfile"
	"github.com/tributary-io/tributary/internal/background"
)

func newConnect() *cobra.Command {
	var common serviceFlags
	var public publicFlags
	var database postgresFlags
	var config connect.Config
	var shops shopFlags
	var keys secretFlag
	var drain time.Duration
	cmd := &cobra.Command{
		Use:   "connect",
		Short: "Run the service that takes shops' orders from their platforms, or look after connections",
		Long: `Run the service that takes orders from shops' platforms, and sends webhooks: it alone
speaks to others' servers, and opens what merchants' credentials are sealed with. It needs
PostgreSQL and the admin API. Several may run: each connection is worked on by one
at a time. Without --connect-url it reads what changed every two minutes; with it
platforms also send notices to it, so that orders come within seconds.`,
		Example: `  tributary connect --postgres "$DSN" --admin-url http://127.0.0.1:7701 --connect-key-file connect.key ` +
			`--connect-url https://connect.example.com --contact it@example.com`,
		Args:        serviceOrCommand,
		Annotations: map[string]string{runsToo: "true"},
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			setup := connectSetup{config: config, drain: drain}
			var wrong problems
			setup.service, err = common.read(cmd)
			wrong.add(err)
			setup.dsn, err = database.require()
			wrong.add(err)
			if config.AdminURL == "" {
				wrong.add(errors.New("give --admin-url or $" + environmentName("admin-url")))
			}
			if shops.contact == "" {
				wrong.add(errors.New("give --contact or $" + environmentName("contact") + ": platforms refuse requests that do not say whose they are"))
			}
			setup.keys, err = connectKeys(&keys)
			wrong.add(err)
			wrong.add(shops.into(&setup.config))
			trusted, err := public.proxies.prefixes()
			wrong.add(err)
			setup.config.ClientAddress = forwardedFor(trusted)
			wrong.add(public.tls.read(&setup.service))
			if err := wrong.err(); err != nil {
				return err
			}
			if err := public.listen(&common, &setup.service); err != nil {
				return err
			}
			return runConnect(cmd.Context(), setup)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&config.AdminURL, "admin-url", "", "where the admin API answers, such as http://127.0.0.1:7701: orders are sent there")
	flags.StringVar(&config.PublicURL, "connect-url", "",
		"where shops' platforms reach this service, such as https://connect.example.com (default none: what changed is read every two minutes)")
	common.withoutKafka = true
	common.register(flags, "connect", "127.0.0.1:7704")
	public.registerPort(flags, &drain)
	shops.register(flags)
	database.register(flags)
	keys.register(flags, "connect-key", "the keys that open merchants' credentials, as `tributary connect key create` makes it")
	required(flags, "admin-url", "connect-key-file", "contact")
	cmd.AddCommand(newConnectAdd(), newConnectList(), newConnectShow(), newConnectTest(), newConnectStart(), newConnectBackfill(),
		newConnectPause(), newConnectResume(), newConnectRemove(), newConnectCredentials(), newConnectCoupons(), newConnectKey())
	return cmd
}

// serviceOrCommand refuses arguments of a service that has commands too.
func serviceOrCommand(cmd *cobra.Command, args []string) error {
	if err := knownCommand(cmd, args); err != nil {
		return misuse(fmt.Errorf("the service takes no argument: %w", err))
	}
	return nil
}

// shopFlags say how shops' servers are asked.
type shopFlags struct {
	contact   string
	nuvemshop struct {
		id             string
		secret, former secretFlag
	}
	addresses hostAddresses
}

// hostAddresses are URLs by host, as a flag.
type hostAddresses map[string]string

// Set implements pflag.Value.
func (a *hostAddresses) Set(text string) error {
	for one := range strings.SplitSeq(text, ",") {
		host, address, found := strings.Cut(one, "=")
		if !found {
			return fmt.Errorf("%q is not HOST=URL", one)
		}
		if *a == nil {
			*a = hostAddresses{}
		}
		(*a)[host] = address
	}
	return nil
}

// String implements pflag.Value.
func (a *hostAddresses) String() string {
	var list []string
	for _, host := range slices.Sorted(maps.Keys(*a)) {
		list = append(list, host+"="+(*a)[host])
	}
	return strings.Join(list, ",")
}

// Type implements pflag.Value.
func (a *hostAddresses) Type() string { return "addresses" }

func (f *shopFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.contact, "contact", "", "e-mail of who runs this: platforms refuse requests that do not say whose they are")
	flags.StringVar(&f.nuvemshop.id, "nuvemshop-app-id", "", "id of the app that you registered at Nuvemshop, once for all merchants")
	f.nuvemshop.secret.register(flags, "nuvemshop-app-secret", "that app's secret")
	f.nuvemshop.former.register(flags, "previous-nuvemshop-app-secret", "the app's former secret: notices that it signed are still taken")
	f.registerAddresses(flags)
}

func (f *shopFlags) registerAddresses(flags *pflag.FlagSet) {
	flags.Var(&f.addresses, "shop-address",
		"for tests: HOST=URL leads requests for a host of a platform, a network or an endpoint to a program on this machine; repeat or "+
			"separate by commas")
}

// into adds what the flags say to the service's settings.
func (f *shopFlags) into(config *connect.Config) error {
	var wrong problems
	config.Options = platform.Options{UserAgent: "Tributary", Rewrite: f.addresses}
	if f.contact != "" {
		if strings.ContainsAny(f.contact, "\r\n()") {
			wrong.add(errors.New("--contact has a character that a header cannot have"))
		}
		config.Options.UserAgent += " (" + f.contact + ")"
	}
	for host, address := range f.addresses {
		if !onThisMachine(address) {
			wrong.add(fmt.Errorf("--shop-address %s=%s: only an address of this machine is taken, http://127.0.0.1:PORT: it is for tests",
				host, address))
		}
	}
	secret, err := f.nuvemshop.secret.read()
	wrong.add(err)
	former, err := f.nuvemshop.former.read()
	wrong.add(err)
	switch {
	case (f.nuvemshop.id == "") != (len(secret) == 0):
		wrong.add(errors.New("--nuvemshop-app-id and --nuvemshop-app-secret-file go together"))
	case f.nuvemshop.id != "":
		config.Apps = map[string]connect.App{"nuvemshop": {App: platform.App{ID: f.nuvemshop.id, Secret: string(secret)},
			FormerSecret: string(former)}}
	}
	return wrong.err()
}

// onThisMachine reports whether a URL's host is a loopback address.
func onThisMachine(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || u.User != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return ip != nil && ip.IsLoopback()
}

// connectKeys reads the service's keys.
func connectKeys(f *secretFlag) (*account.SealKeys, error) {
	text, err := f.require()
	if err != nil {
		return nil, err
	}
	keys, err := account.ParseSealKeys(text)
	if err != nil {
		return nil, misuse(fmt.Errorf("--%s-file %w", f.name, err))
	}
	return keys, nil
}

// connectSetup is everything that runConnect needs.
type connectSetup struct {
	service
	config connect.Config
	dsn    string
	keys   *account.SealKeys
	drain  time.Duration
}

// runConnect serves until ctx ends.
func runConnect(ctx context.Context, s connectSetup) (err error) {
	defer s.closeListeners()
	ctx, leaving, release := s.leave(ctx, "connect")
	defer release()
	s.config.Leaving, s.config.Internal = leaving, s.internal != nil
	if err := checkSchema(ctx, s.dsn); err != nil {
		return err
	}
	db, err := openStores(ctx, s.dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, refused := watchSchema(ctx, s.log, db.db)
	defer func() { err = errors.Join(refused(), err) }()
	registry := newRegistry(s.internal != nil)
	ctx, stopped := watchStop(ctx, s.log, "connect", registry, stopMetrics{
		counted: map[string]string{"tributary_connect_orders_total": "orders", "tributary_connect_notices_total": "notices"}})
	defer func() { stopped(err) }()
	stopWatching, err := s.watchCertificate(ctx, "connect", registry)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopWatching()) }()
	if s.config.PublicURL == "" {
		s.log.Info("connect has no --connect-url: platforms send it no notices, and it reads what changed")
	}
	tracer, stopTracing, err := s.startTracing(ctx)
	if err != nil {
		return err
	}
	defer stopTracing()
	server, err := connect.New(s.config, connect.Deps{Database: db.Store, Platforms: platforms.All(), Keys: s.keys, Logger: s.log,
		Registry: registry, Tracer: tracer})
	if err != nil {
		return err
	}
	sender, err := webhook.New(webhook.Config{Options: s.config.Options},
		webhook.Deps{Database: db.Store, Keys: s.keys, Logger: s.log, Registry: registry})
	if err != nil {
		return err
	}
	conversions, err := network.New(network.Config{Options: s.config.Options},
		network.Deps{Database: db.Store, Facts: db.Reader, Keys: s.keys, Logger: s.log, Registry: registry})
	if err != nil {
		return err
	}
	stopInternal := s.startInternal(ctx, server.Internal())
	working := background.Start(ctx, s.log, "connect", server.Run)
	sending := background.Start(ctx, s.log, "webhooks", sender.Run)
	telling := background.Start(ctx, s.log, "conversions", conversions.Run)
	listener, handler := s.listener, server.Handler()
	if s.certificate != nil {
		listener, handler = tls.NewListener(listener, s.certificate.Config()), strict(handler)
	}
	err = serveBounded(ctx, s.log, handler, listener, s.drain)
	return errors.Join(err, working.Stop(), sending.Stop(), telling.Stop(), stopInternal())
}

// serveBounded serves until ctx ends, and then finishes requests in flight for at most drain.
func serveBounded(ctx context.Context, log *slog.Logger, handler http.Handler, listener net.Listener, drain time.Duration) error {
	server := &http.Server{Handler: noSniff(handler), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 20 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	err := server.Shutdown(limited)
	if err != nil {
		err = fmt.Errorf("requests were still in flight at the end: %w", errors.Join(err, server.Close()))
	}
	if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

func newConnectKey() *cobra.Command {
	return group("key", "Make or rotate the keys that open merchants' credentials", newConnectKeyCreate(), newConnectKeyRotate())
}

// keyFileVar registers the flag of commands that write the key file.
func keyFileVar(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "connect-key-file", "", "the connect service's key file")
	required(cmd.Flags(), "connect-key-file")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if *path == "" {
			return misuse(errors.New("give --connect-key-file or $" + environmentName("connect-key-file")))
		}
		return nil
	}
}

func newConnectKeyCreate() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use: "create", Short: "Make the connect service's key file", Args: noArguments,
		Long: `Make the key file of the connect service. Keep a copy of it as you keep the hashing
secret: without it merchants have to give their credentials again.`,
		Example: "  tributary connect key create --connect-key-file connect.key",
		RunE: func(cmd *cobra.Command, _ []string) error {
			keys, err := createConnectKeys(path)
			if errors.Is(err, os.ErrExist) {
				return fmt.Errorf("%s is there already: `tributary connect key rotate` adds a key to it", path)
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s has key %s. Keep a copy: nothing else opens what is sealed to it.\n", path, keys.IDs()[0])
			return nil
		},
	}
	keyFileVar(cmd, &path)
	return cmd
}

// createConnectKeys makes a key file that only its owner can read. os.ErrExist where there is a file.
func createConnectKeys(path string) (*account.SealKeys, error) {
	keys, err := account.NewSealKeys()
	if err != nil {
		return nil, err
	}
	text, err := keys.Text()
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return keys, nil
}

func newConnectKeyRotate() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use: "rotate", Short: "Add a new key to the connect service's key file", Args: noArguments,
		Long: `Add a new key to the key file, in front of the others. Give the file to every connect
service and start them again: what was sealed to the former key they seal to the new one.`,
		Example: "  tributary connect key rotate --connect-key-file connect.key",
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			keys, err := account.ParseSealKeys(text)
			if err == nil {
				keys, err = keys.Rotated()
			}
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if err := writeConnectKeys(path, keys); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s has the new key %s, and %d older ones. Start every connect service again with it.\n", path,
				keys.IDs()[0], len(keys.IDs())-1)
			return nil
		},
	}
	keyFileVar(cmd, &path)
	return cmd
}

// writeConnectKeys replaces a key file by one that only its owner can read.
func writeConnectKeys(path string, keys *account.SealKeys) error {
	text, err := keys.Text()
	if err != nil {
		return err
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// connectKeysAt reads a key file, or makes it.
func connectKeysAt(path string) (*account.SealKeys, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return createConnectKeys(path)
	}
	if err != nil {
		return nil, err
	}
	keys, err := account.ParseSealKeys(text)
	if err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	return keys, nil
}
