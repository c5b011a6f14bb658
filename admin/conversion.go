package admin

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// networkRecord is an account at an advertising network as it is read. Its secret is not: nobody can read it again.
type networkRecord struct {
	ID        string                   `json:"id"`
	Name      string                   `json:"name"`
	Network   commerce.DestinationKind `json:"network"`
	AccountID string                   `json:"account_id"`
	ActionID  *string                  `json:"action_id"`
	LoginID   *string                  `json:"login_id"`
	TestCode  *string                  `json:"test_code"` // null: real conversions
	AllOrders bool                     `json:"all_orders"`
	receiverState
}

// networkAdded names an account that was added.
type networkAdded struct {
	ID string `json:"id"`
}

// conversionRoutes are the operations of accounts at networks.
func (s *Server) conversionRoutes() []route {
	k := receivers{Server: s, path: "/conversions", prefix: commerce.NetworkPrefix, read: account.ReadConversions,
		write: account.WriteConversions, states: commerce.NetworkStates, noun: "account at a network", disabled: codeNetworkDisabled,
		full: codeNetworkFull, record: func(e *commerce.Endpoint) (any, error) {
			n, err := commerce.NetworkOf(*e)
			return recordNetwork(&n), err
		}}
	return append(k.routes(),
		route{http.MethodGet, k.path, k.read, ruleRate, s.reads(s.listNetworks)},
		route{http.MethodPost, k.path, k.write, ruleRate, s.takes(s.addNetwork)},
		route{http.MethodPut, k.one(), k.write, ruleRate, k.of(s.changeNetwork)},
		route{http.MethodPut, k.one() + "/secret", k.write, ruleRate, k.of(s.changeNetworkSecret)})
}

func recordNetwork(n *commerce.Network) networkRecord {
	a := n.Account
	return networkRecord{ID: n.ID, Name: n.Name, Network: n.Kind, AccountID: a.ID, ActionID: orNull(a.Action), LoginID: orNull(a.Login),
		TestCode: orNull(a.Test), AllOrders: n.AllOrders, receiverState: recordState(&n.Endpoint)}
}

// listNetworks is GET /conversions: all of them, at most commerce.MaxNetworks.
func (s *Server) listNetworks(ctx context.Context, _ *http.Request, c caller) (answer, error) {
	list, err := s.deps.Database.Networks(ctx, c.companyID)
	if err != nil {
		return answer{}, err
	}
	records := make([]networkRecord, len(list))
	for i := range list {
		records[i] = recordNetwork(&list[i])
	}
	return answer{data: records}, nil
}

// readNetwork reads what a merchant sets of an account, and returns what puts the fields that were sent into one.
func readNetwork(o object) (into func(n *commerce.Network)) {
	name, account, all := optional(o, "name", text), optional(o, "account_id", label), optional(o, "all_orders", boolean)
	action, login, test := optional(o, "action_id", label), optional(o, "login_id", label), optional(o, "test_code", label)
	return func(n *commerce.Network) {
		n.Name, n.AllOrders = strings.TrimSpace(name.Or(n.Name)), all.Or(n.AllOrders)
		n.Account.ID = strings.TrimSpace(account.Or(n.Account.ID))
		if action.Present {
			n.Account.Action = action.Value
		}
		if login.Present {
			n.Account.Login = login.Value
		}
		if test.Present { // null ends a test
			n.Account.Test = test.Value
		}
	}
}

// readSecret reads what lets us into an account of a network.
func readSecret(o object, network commerce.DestinationKind) string {
	secret := strings.TrimSpace(optional(o, "secret", text).Value)
	commerce.CheckNetworkSecret(network, secret, o.bad)
	return secret
}

// addNetwork is POST /conversions.
func (s *Server) addNetwork(ctx context.Context, _ *http.Request, c caller, o object) (answer, error) {
	n := commerce.Network{Endpoint: commerce.Endpoint{Kind: commerce.DestinationKind(required(o, "network", text)), Active: true}}
	required(o, "name", text)
	required(o, "account_id", label)
	readNetwork(o)(&n)
	secret := readSecret(o, n.Kind)
	n.Check(o.bad)
	err := o.broken()
	if err == nil {
		n.ID, err = commerce.NewID(s.random, commerce.NetworkPrefix)
	}
	if err != nil {
		return answer{}, err
	}
	err = s.keepNetworkSecret(ctx, c, n.ID, secret, func(sealed commerce.SealedSecret) error {
		return s.deps.Database.AddNetwork(ctx, c.author(s.now()), n, sealed)
	})
	return answer{data: networkAdded{n.ID}}, refusedNetwork(o, err)
}

// refusedNetwork says of which field an error is that no account may have.
func refusedNetwork(o object, err error) error {
	switch {
	case errors.Is(err, commerce.ErrTooManyNetworks):
		o.bad.Add("account_id", commerce.CodeTooMany, "is of one account too many: a store has at most %d", commerce.MaxNetworks)
	case errors.Is(err, commerce.ErrNetworkThere):
		o.bad.Add("account_id", commerce.CodeConflict, "is of an account that the store has already")
	case errors.Is(err, commerce.ErrNetworkSandbox):
		o.bad.Add("test_code", commerce.CodeEmpty, "is needed in the sandbox, which tells networks of tests alone")
	default:
		return err
	}
	return brokenRules(o.bad)
}

// keepNetworkSecret seals a secret to the connect service, and lets store keep it.
func (s *Server) keepNetworkSecret(ctx context.Context, c caller, id, secret string, store func(sealed commerce.SealedSecret) error) error {
	offer, err := s.runningOffer(ctx)
	if err != nil {
		return err
	}
	sealed, err := account.SealNetworkSecret(offer, c.companyID, id, secret)
	if err != nil {
		return err
	}
	return store(sealed)
}

// changeNetwork is PUT /conversions/{id}: the fields that are sent change; the others stay.
func (s *Server) changeNetwork(ctx context.Context, c caller, id string, o object) (answer, error) {
	into, enabled := readNetwork(o), optional(o, "enabled", boolean)
	if err := o.broken(); err != nil {
		return answer{}, err
	}
	return answer{}, refusedNetwork(o, s.deps.Database.ChangeNetwork(ctx, c.author(s.now()), id, func(n *commerce.Network) error {
		into(n)
		n.Active = enabled.Or(n.Active)
		n.Check(o.bad)
		return brokenRules(o.bad)
	}))
}

// changeNetworkSecret is PUT /conversions/{id}/secret: what is sent from then on is sent with it.
func (s *Server) changeNetworkSecret(ctx context.Context, c caller, id string, o object) (answer, error) {
	secret := strings.TrimSpace(required(o, "secret", text))
	if err := o.broken(); err != nil {
		return answer{}, err
	}
	e, err := s.deps.Database.Endpoint(ctx, c.companyID, id)
	if err != nil {
		return answer{}, err
	}
	commerce.CheckNetworkSecret(e.Kind, secret, o.bad)
	if err := brokenRules(o.bad); err != nil {
		return answer{}, err
	}
	return answer{}, s.keepNetworkSecret(ctx, c, id, secret, func(sealed commerce.SealedSecret) error {
		return s.deps.Database.RotateSecret(ctx, c.author(s.now()), id, sealed)
	})
}
