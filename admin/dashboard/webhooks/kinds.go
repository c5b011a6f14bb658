package webhooks

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
)

// endpoints are webhook endpoints.
func endpoints() kind {
	return kind{list: site.WebhooksPath, one: site.WebhookPath, texts: "webhooks", prefix: commerce.EndpointPrefix,
		states: commerce.MessageStates, most: commerce.MaxEndpoints, form: endpointForm, read: readEndpoint,
		stored: func(ctx context.Context, db Database, companyID string) ([]commerce.Endpoint, error) {
			return db.Endpoints(ctx, companyID)
		},
		seal: func(_ *http.Request, random io.Reader, offer commerce.ConnectOffer, companyID, id string) (string, commerce.SealedSecret, error) {
			return account.NewWebhookSecret(random, offer, companyID, id)
		},
		add: func(ctx context.Context, db Database, author commerce.Author, e commerce.Endpoint, sealed commerce.SealedSecret) error {
			return db.AddEndpoint(ctx, author, e, sealed)
		},
		address: func(_ *lang.Printer, e commerce.Endpoint) string { return e.URL },
		settings: func(l *lang.Printer, e commerce.Endpoint) []site.Option {
			return site.NewForm(l, "webhooks", nil).Options("type", commerce.EventNames(e.Types)...)
		}}
}

// endpointForm asks for what a merchant sets of an endpoint.
func endpointForm(v site.Request, typed map[string][]string, e commerce.Endpoint) *site.Form {
	f := site.NewForm(v.Lang, "webhooks", typed)
	f.Add(site.Field{Name: "name", Required: true, Max: commerce.MaxEndpointName, Value: e.Name})
	f.Add(site.Field{Name: "url", Type: "url", Required: true, Max: commerce.MaxEndpointURL, Value: e.URL})
	f.Add(site.Field{Name: "types", Type: "checks", Values: commerce.EventNames(e.Types),
		Options: f.Options("type", commerce.EventNames(commerce.EventTypes)...)})
	return f
}

// readEndpoint reads the form into an endpoint, and checks the whole.
func readEndpoint(r *http.Request, f *site.Form, e *commerce.Endpoint) {
	e.Name, e.URL, e.Types = strings.TrimSpace(r.PostForm.Get("name")), strings.TrimSpace(r.PostForm.Get("url")), nil
	for _, t := range r.PostForm["types"] {
		e.Types = append(e.Types, commerce.EventType(t))
	}
	var bad commerce.Violations
	e.Check(&bad)
	f.Refuse(bad, nil)
}

// networks are accounts at advertising networks.
func networks() kind {
	return kind{list: site.ConversionsPath, one: site.ConversionPath, texts: "conversions", prefix: commerce.NetworkPrefix,
		states: commerce.NetworkStates, most: commerce.MaxNetworks, form: networkForm, read: readNetwork, secret: secretForm,
		readSecret: readSecret, address: networkAddress, settings: networkSettings,
		stored: func(ctx context.Context, db Database, companyID string) (list []commerce.Endpoint, err error) {
			all, err := db.Networks(ctx, companyID)
			for _, n := range all {
				list = append(list, n.Endpoint)
			}
			return list, err
		},
		seal: func(r *http.Request, _ io.Reader, offer commerce.ConnectOffer, companyID, id string) (string, commerce.SealedSecret, error) {
			sealed, err := account.SealNetworkSecret(offer, companyID, id, typed(r, "secret"))
			return "", sealed, err
		},
		add: func(ctx context.Context, db Database, author commerce.Author, e commerce.Endpoint, sealed commerce.SealedSecret) error {
			n, err := commerce.NetworkOf(e)
			if err != nil {
				return err
			}
			return db.AddNetwork(ctx, author, n, sealed)
		}}
}

// typed is what a field of a form has.
func typed(r *http.Request, name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }

// networkForm asks for what a merchant sets of an account at a network; of a new one also for the network and the secret.
func networkForm(v site.Request, typed map[string][]string, e commerce.Endpoint) *site.Form {
	n, _ := commerce.NetworkOf(e) // a new one has no account yet
	f := site.NewForm(v.Lang, "conversions", typed)
	if e.ID == "" {
		f.Add(site.Field{Name: "network", Type: "select", Required: true, Options: f.Options("network", commerce.NetworkNames()...)})
	}
	f.Add(site.Field{Name: "name", Required: true, Max: commerce.MaxEndpointName, Value: e.Name})
	f.Add(site.Field{Name: "account_id", Required: true, Max: 40, Value: n.Account.ID})
	if e.ID == "" {
		addSecret(f)
	}
	if e.ID == "" || e.Kind == commerce.ToGoogle {
		f.Add(site.Field{Name: "action_id", Max: 25, Required: e.ID != "", Value: n.Account.Action})
		f.Add(site.Field{Name: "login_id", Max: 10, Value: n.Account.Login})
	}
	f.Add(site.Field{Name: "test_code", Max: 50, Value: n.Account.Test})
	f.Add(site.Field{Name: "all_orders", Type: "check", Value: map[bool]string{true: "yes"}[n.AllOrders]})
	return f
}

func readNetwork(r *http.Request, f *site.Form, e *commerce.Endpoint) {
	n, _ := commerce.NetworkOf(*e)
	if e.ID == "" {
		n.Kind = commerce.DestinationKind(r.PostForm.Get("network"))
	}
	n.Name, n.AllOrders = typed(r, "name"), r.PostForm.Get("all_orders") == "yes"
	n.Account = commerce.NetworkAccount{ID: typed(r, "account_id"), Action: typed(r, "action_id"), Login: typed(r, "login_id"),
		Test: typed(r, "test_code")}
	var bad commerce.Violations
	n.Check(&bad)
	f.Refuse(bad, nil)
	*e = n.Stored()
}

func addSecret(f *site.Form) {
	f.Add(site.Field{Name: "secret", Type: "password", Required: true, Max: commerce.MaxNetworkSecret, Fill: "off"})
}

// secretForm asks for what lets us into an account.
func secretForm(v site.Request, typed map[string][]string) *site.Form {
	f := site.NewForm(v.Lang, "conversions", typed)
	f.IDs = "s-"
	addSecret(f)
	return f
}

func readSecret(r *http.Request, f *site.Form, e commerce.Endpoint) {
	var bad commerce.Violations
	commerce.CheckNetworkSecret(e.Kind, typed(r, "secret"), &bad)
	f.Refuse(bad, nil)
}

// networkName is what a network is called.
func networkName(l *lang.Printer, network commerce.DestinationKind) string {
	return site.TextOf(l, "conversions.network_"+string(network), string(network))
}

func networkAddress(l *lang.Printer, e commerce.Endpoint) string {
	n, err := commerce.NetworkOf(e)
	if err != nil {
		return e.URL
	}
	address := networkName(l, e.Kind) + " · " + n.Account.ID
	if n.Account.Test != "" {
		address += " · " + l.T("conversions.testing")
	}
	return address
}

func networkSettings(l *lang.Printer, e commerce.Endpoint) (list []site.Option) {
	n, _ := commerce.NetworkOf(e) // it is stored so
	for _, one := range []struct{ field, value string }{{"account_id", n.Account.ID}, {"action_id", n.Account.Action},
		{"login_id", n.Account.Login}, {"test_code", n.Account.Test}} {
		if one.value != "" {
			list = append(list, site.Option{Label: one.value, Help: l.T("conversions." + one.field)})
		}
	}
	which := l.T("conversions.orders_proven")
	if n.AllOrders {
		which = l.T("conversions.orders_all")
	}
	return append(list, site.Option{Help: which})
}
