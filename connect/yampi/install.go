package yampi

import (
	"context"
	"net/url"
	"slices"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

// Offer names menus as public guides of Yampi do. They were not seen in a real account.
func (yampi) Offer() commerce.OfferedPlatform {
	return commerce.OfferedPlatform{
		Name: "yampi", Title: "Yampi",
		Fields: []commerce.CredentialField{
			{Name: "alias", Pattern: `[A-Za-z0-9][A-Za-z0-9-]{0,99}`, Label: platform.Both("Alias of the shop",
				"Alias da loja"), Example: "minha-loja"},
			{Name: "user_token", Secret: true, Pattern: `\S{4,255}`, Label: platform.Both("Access token (User-Token)",
				"Token de acesso (User-Token)")},
			{Name: "secret_key", Secret: true, Pattern: `\S{4,255}`, Label: platform.Both("Secret key (User-Secret-Key)",
				"Chave secreta (User-Secret-Key)")},
			{
				Name: "webhook_secret", Secret: true, Pattern: `\S{0,255}`, Label: platform.Both("Secret of a webhook", "Chave secreta de um webhook"),
				Help: platform.Both("Leave it empty: orders then come by polling alone.", "Deixe vazio: os pedidos então chegam só por consulta."),
			},
		},
		Steps: platform.Both([]string{
			"These steps are from public guides; they were not seen in a real account.",
			"In Yampi's panel open the API credentials (Credenciais de API).",
			"Copy the alias, the access token and the secret key, and paste them here.",
		}, []string{
			"Estes passos são de guias públicos; não foram vistos em uma conta real.",
			"No painel da Yampi, abra as Credenciais de API.",
			"Copie o alias, o token de acesso e a chave secreta e cole aqui.",
		}),
		Brings: platform.Both([]string{
			"Orders with their total, the coupon, items, customer and campaign. Orders of marketplaces say so.",
			"Partial refunds do not come: Yampi documents none. The cart joins no order to a visit.",
		}, []string{
			"Pedidos com o total, o cupom, itens, cliente e campanha. Pedidos de marketplaces dizem isso.",
			"Reembolsos parciais não vêm: a Yampi não os documenta. O carrinho não liga o pedido à visita.",
		}),
	}
}

// About proves the keys by one order.
func (s *shop) About(ctx context.Context) (platform.About, error) {
	var got list
	if err := s.get(ctx, "/orders", url.Values{"limit": {"1"}}, &got); err != nil {
		return platform.About{}, err
	}
	return platform.About{ID: s.alias, Name: s.alias, Currency: currency, ProofKey: commerce.ProofNone, CanNotify: s.signed}, nil
}

// Subscribe only looks whether the merchant has made the webhook: one that is made by the API has a secret of its own, which nobody
// pasted here.
func (s *shop) Subscribe(ctx context.Context, url, _ string) error {
	there, err := s.hooks(ctx)
	if err == nil && (!s.signed || !slices.Contains(there, url)) {
		err = &platform.Error{Reason: commerce.ShopLacksScope, Detail: "a webhook in Yampi's panel that sends to the connection's address"}
	}
	return err
}

func (s *shop) hooks(ctx context.Context) (urls []string, err error) {
	var got struct {
		Data []struct {
			URL string `json:"url"`
		} `json:"data"`
	}
	err = s.get(ctx, "/webhooks", url.Values{"limit": {"100"}}, &got)
	for _, one := range got.Data {
		urls = append(urls, one.URL)
	}
	return urls, err
}

// Unsubscribe leaves the webhook to the merchant who made it.
func (*shop) Unsubscribe(context.Context, string) error { return nil }
