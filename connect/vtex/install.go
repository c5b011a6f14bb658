package vtex

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

// Offer names menus as help.vtex.com does, "Generated keys" and "Roles". They were not seen in a real account.
func (*vtex) Offer() commerce.OfferedPlatform {
	return commerce.OfferedPlatform{
		Name: "vtex", Title: "VTEX",
		Fields: []commerce.CredentialField{
			{
				Name: "account", Pattern: `[A-Za-z0-9][A-Za-z0-9-]{0,60}`, Example: "minhaloja",
				Label: platform.Both("Account name", "Nome da conta"),
				Help: platform.Both("The name before .myvtex.com in the address of your admin.",
					"O nome antes de .myvtex.com no endereço do seu admin."),
			},
			{
				Name: "app_key", Pattern: `[A-Za-z0-9_-]{4,255}`, Example: "vtexappkey-minhaloja-ABCDEF",
				Label: platform.Both("API key (appKey)", "Chave de API (appKey)"),
				Help: platform.Both("Make a key for this alone: VTEX has one feed and one hook for each key.",
					"Crie uma chave só para isto: a VTEX tem um feed e um hook por chave."),
			},
			{
				Name: "app_token", Secret: true, Pattern: `[A-Za-z0-9_-]{4,1000}`,
				Label: platform.Both("API token (appToken)", "Token de API (appToken)"),
				Help:  platform.Both("VTEX shows it once, when the key is made.", "A VTEX o mostra uma única vez, quando a chave é criada."),
			},
		},
		Steps:  platform.Both(stepsEnglish, stepsPortuguese),
		Brings: platform.Both(bringsEnglish, bringsPortuguese),
	}
}

var (
	stepsEnglish = []string{
		"These steps are from VTEX's documentation; they were not seen in a real account.",
		"Make a role with these resources: View order, List Orders, Feed v3 and Hook Admin and, to compare coupons, Manage benefits and rates.",
		"In the admin, click your profile's letter, then Account Settings > API Keys, and stay in the tab Generated.",
		"Click Generate Key, give it a name, choose that role and click Generate.",
		"Copy the key and its token, and paste them here with the account's name.",
	}
	stepsPortuguese = []string{
		"Estes passos são da documentação da VTEX; não foram vistos em uma conta real.",
		"Crie um perfil de acesso com os recursos View order, List Orders, Feed v3 and Hook Admin e, para comparar cupons, " +
			"Manage benefits and rates.",
		"No Admin, clique na letra do seu perfil, depois em Configurações da conta > Chaves de API, e fique na aba Geradas.",
		"Clique em Gerar chave, dê um nome, escolha esse perfil e clique em Gerar.",
		"Copie a chave e o token e cole aqui com o nome da conta.",
	}
	bringsEnglish = []string{
		"Orders with what is left after changes and returns, the coupon, items, delivery, customer.",
		"VTEX divides a purchase from several sellers into orders: each earns the fixed commission.",
		"Orders that were sold elsewhere (Fulfillment, Chain) come as marketplace orders, those of a call centre as others.",
		"The cart joins no order to a visit: VTEX lets anybody share a cart by a link. E-mail, phone and network still do.",
		"Masked e-mails are left out. What a coupon takes off does not come, and coupons are not made from here.",
	}
	bringsPortuguese = []string{
		"Pedidos com o que resta depois de alterações e devoluções, o cupom, itens, entrega, cliente.",
		"A VTEX divide uma compra de vários vendedores em pedidos: cada um gera a comissão fixa.",
		"Pedidos vendidos em outro lugar (Fulfillment, Chain) vêm como pedidos de marketplace; os de televendas, como outros.",
		"O carrinho não liga o pedido à visita: a VTEX deixa qualquer um compartilhar um carrinho por link. E-mail, telefone e rede ligam.",
		"E-mails mascarados ficam de fora. O desconto de um cupom não vem, e cupons não são criados por aqui.",
	}
)

const (
	feedAdmin = "Feed v3 and Hook Admin"
	feedPath  = "/api/orders/feed/config"
	hookPath  = "/api/orders/hook/config"
)

// About asks for one order of the list, which has the currency, and for the feed's configuration.
// proof key: none. help.vtex.com, "What is the shared cart": whoever gives somebody a link with ?orderFormId= knows that cart.
func (s *shop) About(ctx context.Context) (platform.About, error) {
	answer, err := s.get(ctx, "/api/oms/pvt/orders", url.Values{"page": {"1"}, "per_page": {"1"}, "orderBy": {"creationDate,desc"}})
	if err != nil {
		return platform.About{}, lacking(err, "List Orders")
	}
	var got struct {
		List []struct {
			Currency string `json:"currencyCode"`
		} `json:"list"`
	}
	if json.Unmarshal(answer.Body, &got) != nil {
		return platform.About{}, platform.Unread("the list of orders")
	}
	about := platform.About{
		ID: s.account, Name: s.account, URL: "https://" + s.account + ".myvtex.com", ProofKey: commerce.ProofNone, CanNotify: true,
	}
	if len(got.List) > 0 {
		about.Currency = got.List[0].Currency
	}
	if _, _, err := s.config(ctx, feedPath); err != nil {
		return about, err
	}
	if _, _, err := s.Coupon(ctx, "-"); err != nil {
		if _, lacks := platform.Failed(err, commerce.ShopLacksScope); !lacks {
			return about, err
		}
		about.Lacks = append(about.Lacks, "Manage benefits and rates")
	}
	return about, nil
}

// filter is what feed and hook are asked for: every change of every order, also those that are no change of its status, such as a
// return. Without disableSingleFire an order would come once only.
type filter struct {
	Type       string `json:"type"`
	Expression string `json:"expression"`
	Again      bool   `json:"disableSingleFire"`
}

var everything = filter{Type: "FromOrders", Expression: "value >= 0", Again: true}

type configuration struct {
	Filter filter `json:"filter"`
	Hook   struct {
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	} `json:"hook"`
}

// config reads what is configured for this key; false: nothing.
func (s *shop) config(ctx context.Context, path string) (c configuration, there bool, err error) {
	answer, err := s.get(ctx, path, nil)
	switch {
	case platform.NotFound(err):
		return c, false, nil
	case err != nil:
		return c, false, lacking(err, feedAdmin)
	case len(answer.Body) == 0:
		return c, false, nil
	case json.Unmarshal(answer.Body, &c) != nil:
		return c, false, platform.Unread(path)
	}
	return c, c.Filter.Type != "" || c.Hook.URL != "", nil
}

// ownFeed makes the feed where there is none; made says so. A feed of another system on the same key is left alone: reading it
// would take that system's events away. It is looked at once an hour, at the beginning of a poll.
func (s *shop) ownFeed(ctx context.Context, begins bool) (made bool, err error) {
	s.mutex.Lock()
	fresh := time.Since(s.checked) < checkFeed
	s.mutex.Unlock()
	if fresh || !begins {
		return false, nil
	}
	c, there, err := s.config(ctx, feedPath)
	if err != nil {
		return false, err
	}
	if there && c.Filter != everything {
		return false, taken("feed")
	}
	if !there {
		_, err := s.do(ctx, http.MethodPost, feedPath, nil, map[string]any{
			"filter": everything,
			"queue":  map[string]int{"visibilityTimeoutInSeconds": 240, "MessageRetentionPeriodInSeconds": 1_209_600}, // 14 days, the most
		})
		if err != nil {
			return false, lacking(err, feedAdmin)
		}
	}
	s.mutex.Lock()
	s.checked = time.Now()
	s.mutex.Unlock()
	return !there, nil
}

func taken(what string) error {
	return &platform.Error{
		Reason: commerce.ShopLacksScope, Detail: "another system has the " + what + " of this API key: make a key for this alone",
	}
}

// Subscribe makes the feed, and the hook where none is there. Another's hook is never overwritten: that is an error, and orders come
// by the feed.
func (s *shop) Subscribe(ctx context.Context, address, secret string) error {
	if _, err := s.ownFeed(ctx, true); err != nil {
		return err
	}
	c, there, err := s.config(ctx, hookPath)
	switch {
	case err != nil:
		return err
	case there && c.Hook.URL != address:
		return taken("hook")
	case there && secret != "" && header(c.Hook.Headers) == secret:
		return nil
	}
	_, err = s.do(ctx, http.MethodPost, hookPath, nil, map[string]any{
		"filter": everything, "hook": map[string]any{"url": address, "headers": map[string]string{secretHeader: secret}},
	})
	return lacking(err, feedAdmin)
}

func header(headers map[string]string) string {
	for name, value := range headers {
		if http.CanonicalHeaderKey(name) == secretHeader {
			return value
		}
	}
	return ""
}

// Unsubscribe deletes the hook where it is ours. The feed stays: the polls that may still come need it, and VTEX removes it by
// itself with the key.
func (s *shop) Unsubscribe(ctx context.Context, address string) error {
	c, there, err := s.config(ctx, hookPath)
	if err != nil || !there || c.Hook.URL != address {
		return err
	}
	_, err = s.do(ctx, http.MethodDelete, hookPath, nil, nil)
	if platform.NotFound(err) {
		return nil
	}
	return lacking(err, feedAdmin)
}
