package woocommerce

import (
	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

// Names of the credentials.
const (
	fieldURL    = "url"
	fieldKey    = "consumer_key"
	fieldSecret = "consumer_secret"
	fieldStates = "own_statuses"
)

// ownState is one of fieldStates: a status as the API names it, without "wc-", and what it means.
const ownState = `[a-z0-9_-]{1,40}=(?:approved|pending|cancelled)`

// readCoupons is what a key lacks whose user may not read coupons. WooCommerce has no name for it.
const readCoupons = "coupons"

// Offer says how a shop of WooCommerce is connected. Nobody has tried it with a real shop.
func (woocommerce) Offer() commerce.OfferedPlatform {
	return commerce.OfferedPlatform{
		Name:  "woocommerce",
		Title: "WooCommerce",
		Fields: []commerce.CredentialField{
			{Name: fieldURL, Pattern: `(?i:https://)?[^\s?#@:/]{3,150}(:[0-9]{1,5})?(/[^\s?#@]{0,100})?`, Example: "https://www.your-shop.com",
				Label: platform.Both("Address of the shop", "Endereço da loja"),
				Help:  platform.Both("As the browser shows it on the shop's first page.", "Como o navegador mostra na primeira página da loja.")},
			{Name: fieldKey, Secret: true, Pattern: `ck_[0-9A-Za-z]{8,100}`,
				Label: platform.Both("Consumer key", "Consumer key (chave do cliente)")},
			{Name: fieldSecret, Secret: true, Pattern: `cs_[0-9A-Za-z]{8,100}`,
				Label: platform.Both("Consumer secret", "Consumer secret (segredo do cliente)")},
			{Name: fieldStates, Pattern: ownState + `(?:\s*,\s*` + ownState + `){0,19}|`,
				Example: "em-separacao=approved, devolvido=cancelled",
				Label:   platform.Both("Statuses of plug-ins", "Situações de plug-ins"),
				Help: platform.Both("What each means: approved, pending or cancelled. Orders with any other are set aside.",
					"O que cada uma significa: approved (aprovado), pending (pendente) ou cancelled (cancelado). Pedidos com outra "+
						"ficam separados.")},
		},
		Steps: platform.Both([]string{
			"In WordPress open WooCommerce > Settings > Advanced > REST API, and add a key.",
			"Choose a user who manages the shop, and the permission Read/Write; with Read alone orders come within minutes, and no coupon can " +
				"be created.",
			"Copy the consumer key and the consumer secret at once: WordPress shows the secret only this time.",
			"In Settings > Permalinks any choice but Plain must be set; else WooCommerce does not answer.",
			"These steps are from WooCommerce's documentation and were not seen in a real account.",
		}, []string{
			"No WordPress abra WooCommerce > Configurações > Avançado > API REST e adicione uma chave.",
			"Escolha um usuário que gerencia a loja e a permissão Leitura/Gravação; só com Leitura os pedidos chegam em minutos, e nenhum " +
				"cupom pode ser criado.",
			"Copie a consumer key e o consumer secret na hora: o WordPress mostra o segredo só dessa vez.",
			"Em Configurações > Links permanentes escolha qualquer opção menos Simples; senão o WooCommerce não responde.",
			"Estes passos são da documentação do WooCommerce e não foram vistos em uma conta real.",
		}),
		Brings: platform.Both([]string{
			"Comes: orders with status, total less refunds, tax, discount, shipping, coupons with what each took off, products, customer and " +
				"campaign.",
			"Comes: refunds of a part, and orders in the trash.",
			"Does not come: when an order was delivered, and orders that were deleted for good (a notice or the nightly comparison finds them).",
			"Orders with a status of a plug-in are set aside, unless you say what it means.",
			"Orders made by hand or by another program come as other orders.",
		}, []string{
			"Vem: pedidos com situação, total menos devoluções, impostos, desconto, frete, cupons com o valor de cada um, produtos, cliente e " +
				"campanha.",
			"Vem: devoluções de uma parte e pedidos na lixeira.",
			"Não vem: quando um pedido foi entregue, nem pedidos excluídos de vez (um aviso ou a comparação da noite os encontra).",
			"Pedidos com situação de um plug-in ficam separados, se você não disser o que ela significa.",
			"Pedidos feitos à mão ou por outro programa vêm como outros.",
		}),
		Without: platform.Both(map[string]string{readCoupons: "The key's user may not read coupons: they are not compared."},
			map[string]string{readCoupons: "O usuário da chave não pode ler cupons: eles não são comparados."}),
	}
}
