package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"github.com/tributary-io/tributary/admin/mail"
	"github.com/tributary-io/tributary/admin/statementlink"
	"github.com/tributary-io/tributary/internal/background"
)

// smtpFlags say by which server mails are sent, and from whom. Without a server none are.
type smtpFlags struct {
	address, from string
	password      secretFlag
}

func (f *smtpFlags) register(flags *pflag.FlagSet) {
	f.registerServer(flags)
	flags.StringVar(&f.from, "mail-from", "", `who mails are from, "Tributary <no-reply@example.com>": with --smtp`)
}

// registerServer registers what tells of the server alone.
func (f *smtpFlags) registerServer(flags *pflag.FlagSet) {
	flags.StringVar(&f.address, "smtp", "",
		"the server that takes mails: smtp://user@host:587 (STARTTLS), smtps://user@host:465, or on this machine smtp+insecure://127.0.0.1:25")
	f.password.register(flags, "smtp-password", "the password of its user")
}

// server is the server, and whether there is one.
func (f *smtpFlags) server() (server mail.Server, given bool, err error) {
	password, err := f.password.read()
	if err != nil || f.address == "" {
		return server, false, err
	}
	if server, err = mail.ParseServer(f.address, string(password)); err != nil {
		return server, false, fmt.Errorf("--smtp: %w", err)
	}
	return server, true, nil
}

// config is how mails are sent; nil: none are. publicURL is the dashboard's.
func (f *smtpFlags) config(publicURL string) (*mail.Config, error) {
	server, given, err := f.server()
	if err != nil || !given {
		if err == nil && f.from != "" {
			err = errors.New("--mail-from needs --smtp")
		}
		return nil, err
	}
	var wrong problems
	if _, err := mail.ParseFrom(f.from); err != nil {
		wrong.add(errors.New("--smtp needs --mail-from, an address such as no-reply@example.com"))
	}
	if publicURL == "" {
		wrong.add(errors.New("--smtp needs --public-url: mails lead to the dashboard"))
	}
	return &mail.Config{Server: server, From: f.from, PublicURL: publicURL}, wrong.err()
}

// startMail sends mails until ctx ends or stop is called. Without a server it does nothing.
func startMail(ctx context.Context, config *mail.Config, db stores, secret, former []byte, log *slog.Logger,
	registry *prometheus.Registry) (stop func() error, err error) {
	if config == nil {
		return func() error { return nil }, nil
	}
	links, err := statementlink.NewSigner(secret, former)
	if err != nil {
		return nil, err
	}
	sender, err := mail.New(*config, mail.Deps{Database: db, Links: links, Logger: log, Registry: registry})
	if err != nil {
		return nil, err
	}
	return background.Start(ctx, log, "mail", sender.Run).Stop, nil
}

// checkMail logs in at the SMTP server, and sends nothing.
func (e *examination) checkMail(ctx context.Context, f *findings) {
	if e.mail == nil {
		f.remark("mail", "no --smtp is given: no mails are sent")
		return
	}
	if err := e.mail.Check(ctx); err != nil {
		f.fail("mail", fmt.Sprintf("%s takes no mails from here: %v", e.mail.Address(), err),
			"look at --smtp and its password; mails wait for three days meanwhile")
		return
	}
	f.ok("mail", e.mail.Address()+" takes mails from here")
}
