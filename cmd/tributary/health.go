package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// healthFlags say where the service listens: they have the names of the service's own flags, so that
// its variables lead there.
type healthFlags struct {
	addr, internal, cert string
	live                 bool
	timeout              time.Duration
}

func newHealth() *cobra.Command {
	var f healthFlags
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask a service on this machine whether it can work",
		Long: `Ask a service on this machine for /readyz, or with --live for /healthz. Exit status 0
where it answers 200, else 1, with what it says.

It reads the same variables as the service: in the service's container it needs no
flag, as a HEALTHCHECK.`,
		Example: `  tributary health --addr :7703
  TRIBUTARY_INTERNAL_ADDR=:7710 tributary health --live`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			address, err := f.url()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), f.timeout)
			defer cancel()
			return f.ask(ctx, cmd.OutOrStdout(), address)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.addr, "addr", "", "the service's --addr")
	flags.StringVar(&f.internal, "internal-addr", "", "the service's --internal-addr, where it has one; it goes before --addr")
	flags.StringVar(&f.cert, "tls-cert", "", "the service's --tls-cert: --addr is asked by HTTPS, and must have this certificate")
	flags.BoolVar(&f.live, "live", false, "ask whether it lives (/healthz), not whether it can work")
	durationVar(flags, &f.timeout, "timeout", 5*time.Second, "how long to wait at most for the answer")
	return cmd
}

// url is what is asked. An address without a host, or with that of all, is asked on the loopback interface.
func (f *healthFlags) url() (string, error) {
	addr, scheme, name := f.addr, "http", "addr"
	switch {
	case f.internal != "":
		addr, name = f.internal, "internal-addr"
	case f.addr == "":
		return "", misuse(errors.New("give --addr or --internal-addr, as the service has it"))
	case f.cert != "":
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", misuse(fmt.Errorf("--%s: %w", name, err))
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() && ip.To4() != nil {
		host = "127.0.0.1"
	} else if ip != nil && ip.IsUnspecified() {
		host = "::1"
	}
	path := "/readyz"
	if f.live {
		path = "/healthz"
	}
	return scheme + "://" + net.JoinHostPort(host, port) + path, nil
}

// ask asks once. No proxy leads to a service of this machine, and no answer leads elsewhere.
func (f *healthFlags) ask(ctx context.Context, out io.Writer, address string) error {
	transport := &http.Transport{DisableKeepAlives: true}
	if strings.HasPrefix(address, "https:") {
		trusted, err := trustOnly(f.cert)
		if err != nil {
			return fmt.Errorf("--tls-cert: %w", err)
		}
		transport.TLSClientConfig = trusted
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 2000))
	if err != nil {
		return err
	}
	said := printable(strings.Join(strings.Fields(string(text)), " "))
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", address, response.Status, said)
	}
	fmt.Fprintln(out, said)
	return nil
}

// trustOnly trusts the first certificate of a PEM file alone, by its own first name.
func trustOnly(path string) (*tls.Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s holds no certificate", path)
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	config.RootCAs.AddCert(leaf)
	switch {
	case len(leaf.DNSNames) > 0:
		config.ServerName = leaf.DNSNames[0]
	case len(leaf.IPAddresses) > 0:
		config.ServerName = leaf.IPAddresses[0].String()
	}
	return config, nil
}
