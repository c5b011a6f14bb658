package shopify

import (
	"context"
	"slices"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

// Offer names menus as shopify.dev/docs/apps/build/dev-dashboard/create-apps-using-dev-dashboard and …/client-secrets do. They
// were not seen in a real account.
func (*shopify) Offer() commerce.OfferedPlatform {
	return commerce.OfferedPlatform{
		Name: "shopify", Title: "Shopify",
		Fields: []commerce.CredentialField{
			{
				Name: "shop", Pattern: `(https://)?(admin\.shopify\.com/store/)?[A-Za-z0-9][A-Za-z0-9-]{0,60}(\.myshopify\.com)?/?`,
				Label: platform.Both("Address of the shop", "Endereço da loja"),
				Help: platform.Both("The name before .myshopify.com, or the address of your shop's admin.",
					"O nome antes de .myshopify.com, ou o endereço do admin da sua loja."),
				Example: "my-shop.myshopify.com",
			},
			{
				Name: "client_id", Pattern: `[A-Za-z0-9]{0,128}`,
				Label: platform.Both("Client ID of your app", "ID do cliente do seu app (Client ID)"),
				Help:  platform.Both("Leave it empty if you paste an access token below.", "Deixe vazio se você colar um token de acesso abaixo."),
			},
			{
				Name: "client_secret", Secret: true, Pattern: `[A-Za-z0-9_-]{0,255}`,
				Label: platform.Both("Client secret of your app", "Chave secreta do seu app (Client secret)"),
				Help: platform.Both("It also proves that a notice is from Shopify. Without it orders come by polling alone.",
					"Ela também prova que um aviso é da Shopify. Sem ela, os pedidos chegam só por consulta."),
			},
			{
				Name: "token", Secret: true, Pattern: `[A-Za-z0-9_]{0,255}`,
				Label: platform.Both("Admin API access token", "Token de acesso da API Admin"),
				Help: platform.Both("Only for an app that was made in the shop's admin before 2026. Otherwise leave it empty.",
					"Só para um app criado no admin da loja antes de 2026. Se não, deixe vazio."),
				Example: "shpat_…",
			},
		},
		Steps:  platform.Both(stepsEnglish, stepsPortuguese),
		Brings: platform.Both(bringsEnglish, bringsPortuguese),
	}
}

var (
	stepsEnglish = []string{
		"These steps are from Shopify's documentation; they were not seen in a real account.",
		"Open the Dev Dashboard (dev.shopify.com/dashboard) with the account that owns the shop.",
		"Under Apps select Create app, then Start from Dev Dashboard, give it a name and select Create.",
		"In Versions, choose the scopes read_orders, read_customers, read_products and, to make coupons from here, write_discounts. " +
			"With read_all_orders, which Shopify gives on request, orders older than 60 days come too. Then select Release.",
		"On the app's home page select Install app, and choose your shop.",
		"In Settings copy the Client ID and the Client secret, and paste them here.",
	}
	stepsPortuguese = []string{
		"Estes passos são da documentação da Shopify; não foram vistos em uma conta real.",
		"Abra o Dev Dashboard (dev.shopify.com/dashboard) com a conta que é dona da loja.",
		"Em Apps, selecione Create app, depois Start from Dev Dashboard, dê um nome e selecione Create.",
		"Em Versions, escolha os escopos read_orders, read_customers, read_products e, para criar cupons por aqui, write_discounts. " +
			"Com read_all_orders, que a Shopify dá a pedido, vêm também os pedidos com mais de 60 dias. Depois selecione Release.",
		"Na página inicial do app, selecione Install app e escolha a sua loja.",
		"Em Settings, copie o Client ID e o Client secret e cole aqui.",
	}
	bringsEnglish = []string{
		"Orders with what is left after refunds and edits, discount codes with what each took off, items, delivery, customer.",
		"The token of the checkout joins an order to its visit, if the shop's pages tell it.",
		"Orders of the point of sale, drafts and marketplaces come, and say so. Test orders are counted and not sent.",
		"Without read_all_orders only the orders of the last 60 days come. Amounts are in the shop's currency.",
		"The buyer's browser does not come: Shopify's API does not tell it.",
	}
	bringsPortuguese = []string{
		"Pedidos com o que resta depois de reembolsos e edições, códigos de desconto com o valor de cada um, itens, entrega, cliente.",
		"O token do checkout liga o pedido à visita, se as páginas da loja o informam.",
		"Pedidos do ponto de venda, rascunhos e marketplaces vêm, e dizem isso. Pedidos de teste são contados e não enviados.",
		"Sem read_all_orders só vêm os pedidos dos últimos 60 dias. Os valores são na moeda da loja.",
		"O navegador do comprador não vem: a API da Shopify não o informa.",
	}
)

const aboutQuery = `{ shop { name myshopifyDomain url currencyCode } currentAppInstallation { accessScopes { handle } } }`

// wanted are the permissions, each with those that contain it. Source: shopify.dev/docs/api/usage/access-scopes.
var wanted = [][]string{
	{"read_orders", "write_orders"}, {"read_all_orders"}, {"read_customers", "write_customers"}, {"read_products", "write_products"},
	{"write_discounts"},
}

// About tells the shop by its name at myshopify.com, which notices have too. Lacks are names of permissions; without
// read_all_orders an app sees the orders of 60 days.
func (s *shop) About(ctx context.Context) (platform.About, error) {
	var got struct {
		Shop struct {
			Name     string `json:"name"`
			Domain   string `json:"myshopifyDomain"`
			URL      string `json:"url"`
			Currency string `json:"currencyCode"`
		} `json:"shop"`
		Installation struct {
			Scopes []struct {
				Handle string `json:"handle"`
			} `json:"accessScopes"`
		} `json:"currentAppInstallation"`
	}
	if err := s.ask(ctx, "about", aboutQuery, "shop", nil, false, &got); err != nil {
		return platform.About{}, err
	}
	if got.Shop.Domain == "" || got.Shop.Currency == "" {
		return platform.About{}, platform.Unread("shop")
	}
	about := platform.About{
		ID: got.Shop.Domain, Name: got.Shop.Name, URL: got.Shop.URL, Currency: got.Shop.Currency, ProofKey: commerce.ProofCart,
		CanNotify: s.secret != "",
	}
	var has []string
	for _, scope := range got.Installation.Scopes {
		has = append(has, scope.Handle)
	}
	for _, names := range wanted {
		if !slices.ContainsFunc(names, func(name string) bool { return slices.Contains(has, name) }) {
			about.Lacks = append(about.Lacks, names[0])
		}
	}
	if slices.Contains(about.Lacks, "read_orders") {
		return about, &platform.Error{Reason: commerce.ShopLacksScope, Detail: "read_orders"}
	}
	return about, nil
}

// topics are what Subscribe asks for. The compliance topics are no subscriptions: the app's configuration names their address.
var topics = []string{
	"ORDERS_CREATE", "ORDERS_UPDATED", "ORDERS_PAID", "ORDERS_CANCELLED", "ORDERS_EDITED", "ORDERS_DELETE", "REFUNDS_CREATE",
	"APP_UNINSTALLED",
}

const (
	hooksQuery = `query($uri: String!) { webhookSubscriptions(first: 50, uri: $uri) { nodes { id topic uri } } }`
	hookQuery  = `mutation($topic: WebhookSubscriptionTopic!, $hook: WebhookSubscriptionInput!) {
		webhookSubscriptionCreate(topic: $topic, webhookSubscription: $hook) { webhookSubscription { id } userErrors { field } } }`
	unhookQuery = `mutation($id: ID!) { webhookSubscriptionDelete(id: $id) { deletedWebhookSubscriptionId userErrors { field } } }`
)

type hook struct{ ID, Topic, URI string }

func (s *shop) hooks(ctx context.Context, url string) ([]hook, error) {
	var got struct {
		Subscriptions struct{ Nodes []hook } `json:"webhookSubscriptions"`
	}
	if err := s.ask(ctx, "hooks", hooksQuery, "webhookSubscriptions", map[string]any{"uri": url}, false, &got); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(got.Subscriptions.Nodes, func(h hook) bool { return h.URI != url }), nil
}

type refusedHook struct {
	Errors []struct {
		Field []string `json:"field"`
	} `json:"userErrors"`
}

// Subscribe asks for the topics that the address does not get yet. Shopify signs by the app's client secret, so ours is not used.
// It deletes a subscription after 8 failures: calling this again brings it back.
// Source: shopify.dev/docs/api/admin-graphql/2026-10/mutations/webhookSubscriptionCreate.
func (s *shop) Subscribe(ctx context.Context, url, _ string) error {
	if s.secret == "" {
		return &platform.Error{Reason: commerce.ShopLacksScope, Detail: "client_secret"}
	}
	there, err := s.hooks(ctx, url)
	if err != nil {
		return err
	}
	for _, topic := range topics {
		if slices.ContainsFunc(there, func(h hook) bool { return h.Topic == topic }) {
			continue
		}
		var got struct {
			Created refusedHook `json:"webhookSubscriptionCreate"`
		}
		variables := map[string]any{"topic": topic, "hook": map[string]any{"uri": url, "format": "JSON"}}
		if err := s.ask(ctx, "hook", hookQuery, "webhookSubscriptionCreate", variables, true, &got); err != nil {
			return err
		}
		if len(got.Created.Errors) > 0 {
			return platform.Unread("the webhook " + topic + " was refused")
		}
	}
	return nil
}

func (s *shop) Unsubscribe(ctx context.Context, url string) error {
	there, err := s.hooks(ctx, url)
	if err != nil {
		return err
	}
	for _, h := range there {
		var got struct {
			Deleted refusedHook `json:"webhookSubscriptionDelete"`
		}
		if err := s.ask(ctx, "unhook", unhookQuery, "webhookSubscriptionDelete", map[string]any{"id": h.ID}, true, &got); err != nil {
			return err
		}
	}
	return nil
}
