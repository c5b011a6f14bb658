// Command fakeshop runs a fake shop with pages to buy on, until it is interrupted:
//
//	go run ./test/fakes/fakeshop -platform nuvemshop -listen 127.0.0.1:8090
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/tributary-io/tributary/test/fakes"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "fakeshop:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("fakeshop", flag.ContinueOnError)
	options := fakes.Options{Storefront: true}
	flags.StringVar(&options.Platform, "platform", "nuvemshop", "one of "+strings.Join(fakes.Platforms(), ", "))
	flags.StringVar(&options.Listen, "listen", "127.0.0.1:0", "host and port")
	flags.StringVar(&options.Shop, "name", "Loja Exemplo", "the shop's name")
	flags.StringVar(&options.Script, "script", "", "address of a script for each page; attributes may follow after a space")
	flags.StringVar(&options.Redirect, "redirect", "", "where the page of consent sends the merchant")
	flags.Uint64Var(&options.Seed, "seed", 1, "draws ids, keys and secrets")
	flags.Float64Var(&options.RetryScale, "retry-scale", 1, "multiplies the waits between attempts at a notice")
	flags.Float64Var(&options.LimitScale, "limit-scale", 1, "multiplies the documented rate limit")
	flags.BoolVar(&options.TLS, "tls", false, "serve https, with a certificate that nobody trusts")
	dev := flags.String("dev", "", "dev.json of a `tributary dev`: its edge's script and company are in each page, once they are there")
	asJSON := flags.Bool("json", false, "print one line of JSON, for programs")
	storm := flags.Uint64("storm", 0, "a seed for faults of all kinds; 0 for none")
	orders := flags.Int("orders", 0, "how many random orders the shop begins with")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *dev != "" {
		options.ScriptOf = func() string { return scriptOf(*dev) }
	}
	if *storm != 0 {
		options.Faults = fakes.Storm(*storm)
	}
	s, err := fakes.Start(ctx, options)
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := s.AddCoupon(fakes.Coupon{Code: "ANA10", Kind: fakes.CouponPercent, Value: 1000}); err != nil {
		return err
	}
	if err := s.Live(ctx, options.Seed, *orders, 0); err != nil {
		return err
	}
	if *asJSON {
		keys := map[string]string{}
		for _, key := range s.Keys() {
			keys[key.Name] = key.Value
		}
		pasted, hosts := fakes.Pasted(s)
		told := map[string]any{"url": s.URL(), "hosts": hosts, "keys": keys, "pasted": pasted}
		if err := json.NewEncoder(os.Stdout).Encode(told); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}
	fmt.Printf("A fake %s shop.\nBase URL (in place of the platform's host): %s\nThe shop: %s/\nIts admin: %s/shop-admin\n",
		options.Platform, s.URL(), s.URL(), s.URL())
	for _, key := range s.Keys() {
		fmt.Printf("%s: %s\n", key.Name, key.Value)
	}
	<-ctx.Done()
	return nil
}

// scriptOf is the script's tag for the company of a running `tributary dev`; empty while it is not ready.
func scriptOf(file string) string {
	var dev struct {
		EdgeURL   string `json:"edge_url"`
		CompanyID string `json:"company_id"`
	}
	text, err := os.ReadFile(file) //nolint:gosec // who starts the shop names it
	if err != nil || json.Unmarshal(text, &dev) != nil {
		return ""
	}
	return fmt.Sprintf(`%s/sdk/v1/tributary.js data-company=%q`, dev.EdgeURL, dev.CompanyID)
}
