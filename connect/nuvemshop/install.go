package nuvemshop

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

// Names of the credentials. The first three are pasted or come from Exchange; scope comes from Exchange alone.
const (
	fieldStore  = "store_id"
	fieldToken  = "access_token"
	fieldSecret = "app_secret" // of the app that the token is for: its notices are signed with it
	fieldScope  = "scope"      // what the app may do, by commas
)

// What a shop's permissions are called (TiendaNube/api-docs, "Authentication", "Scopes").
const (
	readOrders    = "read_orders"
	readCustomers = "read_customers"
	readCoupons   = "read_coupons"
	writeCoupons  = "write_coupons"
)

// Offer says how a shop of Nuvemshop is connected. Nobody has tried it with a real shop.
func (nuvemshop) Offer() commerce.OfferedPlatform {
	return commerce.OfferedPlatform{
		Name:  "nuvemshop",
		Title: "Nuvemshop",
		Fields: []commerce.CredentialField{
			{Name: fieldStore, Pattern: `[0-9]{1,20}`, Example: "1234567",
				Label: platform.Both("Store ID", "ID da loja"),
				Help: platform.Both("The number that came with the access token as user_id.",
					"O número que veio com o token de acesso como user_id.")},
			{Name: fieldToken, Secret: true, Pattern: `[0-9A-Za-z_\-]{20,200}`,
				Label: platform.Both("Access token", "Token de acesso"),
				Help:  platform.Both("Of an app of yours that is installed in the store.", "De um aplicativo seu que está instalado na loja.")},
			{Name: fieldSecret, Secret: true, Pattern: `([0-9A-Za-z_\-]{16,200})?`,
				Label: platform.Both("Client secret of the app", "Client secret do aplicativo"),
				Help: platform.Both("With it orders come within seconds; without it within minutes.",
					"Com ele os pedidos chegam em segundos; sem ele, em minutos.")},
		},
		Steps: platform.Both([]string{
			"Install the app in your store with the button, and allow what it asks for: you come back here by yourself.",
			"Or, if you have your own app: paste the store ID and the access token that Nuvemshop gave for your store.",
			"Your own app needs the permissions read_orders, read_customers and, to create coupons, write_coupons.",
			"These steps are from Nuvemshop's documentation and were not seen in a real account.",
		}, []string{
			"Instale o aplicativo na sua loja com o botão e permita o que ele pede: você volta para cá automaticamente.",
			"Ou, se você tem um aplicativo próprio: cole o ID da loja e o token de acesso que a Nuvemshop deu para a sua loja.",
			"O seu aplicativo precisa das permissões read_orders, read_customers e, para criar cupons, write_coupons.",
			"Estes passos são da documentação da Nuvemshop e não foram vistos em uma conta real.",
		}),
		Brings: platform.Both([]string{
			"Comes: orders with status, total, discount, shipping, coupons, products, customer and the page where the visit began.",
			"Comes: cancelled orders, and refunds of the whole or of a part.",
			"Does not come: when an order was delivered. An order that is paid in part is set aside.",
			"Orders of Mercado Livre come as orders of a marketplace; orders made by hand or by another program as other orders.",
		}, []string{
			"Vem: pedidos com situação, total, desconto, frete, cupons, produtos, cliente e a página em que a visita começou.",
			"Vem: pedidos cancelados e devoluções do total ou de uma parte.",
			"Não vem: quando um pedido foi entregue. Um pedido pago em parte é deixado de lado.",
			"Pedidos do Mercado Livre vêm como pedidos de marketplace; pedidos feitos à mão ou por outro programa, como outros.",
		}),
		Without: platform.Both(map[string]string{
			readCustomers: "Without it orders may have no customer: no first orders, and fewer visits are joined to orders.",
			readCoupons:   "Without it coupons of the shop are not compared.",
			writeCoupons:  "Without it no coupon can be created in the shop from here.",
		}, map[string]string{
			readCustomers: "Sem ela os pedidos podem vir sem cliente: não há primeiros pedidos, e menos visitas são ligadas a pedidos.",
			readCoupons:   "Sem ela os cupons da loja não são comparados.",
			writeCoupons:  "Sem ela nenhum cupom pode ser criado na loja a partir daqui.",
		}),
	}
}

// NoticeSecret is the client secret of the app that the access token is for.
func (nuvemshop) NoticeSecret(c platform.Credentials) string { return c[fieldSecret] }

// InstallURL is the page where the merchant allows the operator's app ("Authentication", "Authorization flow").
func (nuvemshop) InstallURL(app platform.App, state string) string {
	return "https://www.nuvemshop.com.br/apps/" + url.PathEscape(app.ID) + "/authorize?state=" + url.QueryEscape(state)
}

// Exchange turns the code into an access token. A code lives 30 seconds and counts once, so it is sent once.
func (nuvemshop) Exchange(ctx context.Context, app platform.App, code string, client *platform.Client) (platform.Credentials, error) {
	body, err := json.Marshal(map[string]string{"client_id": app.ID, "client_secret": app.Secret,
		"grant_type": "authorization_code", "code": code})
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(ctx, platform.Request{Method: http.MethodPost, Body: body, Once: true,
		URL: "https://www.tiendanube.com/apps/authorize/token"})
	if lost, known := platform.Failed(err); known {
		switch {
		case lost.Reason == commerce.ShopUnknownWrite: // the merchant installs again: nothing is written twice by that
			return nil, &platform.Error{Reason: commerce.ShopUnavailable, Detail: "no answer"}
		case answer.Status == http.StatusBadRequest || answer.Status == http.StatusUnprocessableEntity:
			return nil, &platform.Error{Reason: commerce.ShopRefusedKey, Detail: "the code"}
		}
	}
	if err != nil {
		return nil, err
	}
	var got struct {
		Token   string          `json:"access_token"`
		Scope   string          `json:"scope"`
		UserID  platform.Scalar `json:"user_id"` // the id of the store
		StoreID platform.Scalar `json:"store_id"`
	}
	if json.Unmarshal(answer.Body, &got) != nil || got.Token == "" {
		return nil, &platform.Error{Reason: commerce.ShopRefusedKey, Detail: "the code"} // an error comes with 200, too
	}
	store, err := platform.ID("user_id", got.UserID)
	if err != nil {
		if store, err = platform.ID("store_id", got.StoreID); err != nil {
			return nil, err
		}
	}
	return platform.Credentials{fieldStore: store, fieldToken: got.Token, fieldSecret: app.Secret, fieldScope: got.Scope}, nil
}

// lacks are the permissions that scope, a list by commas or spaces, does not have. Who may write may read.
func lacks(scope string) []string {
	has := map[string]bool{}
	for _, name := range strings.FieldsFunc(scope, func(r rune) bool { return r == ',' || r == ' ' }) {
		has[name] = true
		if what, write := strings.CutPrefix(name, "write_"); write {
			has["read_"+what] = true
		}
	}
	var missing []string
	for _, name := range []string{readOrders, readCustomers, readCoupons, writeCoupons} {
		if !has[name] {
			missing = append(missing, name)
		}
	}
	return missing
}
