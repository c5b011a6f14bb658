package commerce

import (
	"slices"
	"strings"
)

// passing are the hosts through which a shopper passes on the way to an order, each
// with all hosts below it: payment and sign-in pages, the banks' pages that confirm a
// card (3-D Secure) and the platforms' checkouts. Who comes back from one has not
// arrived again. The hosts are those that the services' own documents name.
var passing = hostSet(
	// Sign-in.
	"accounts.google.com accounts.youtube.com appleid.apple.com login.microsoftonline.com login.live.com login.yahoo.com b2clogin.com",
	"auth0.com okta.com amazoncognito.com acesso.gov.br",
	// Payment.
	"paypal.com mercadopago.com mercadopago.com.br mercadolivre.com.br pagseguro.uol.com.br pagseguro.com.br pagbank.com.br asaas.com "+
		"moip.com.br wirecard.com",
	"payu.com payu.com.br payulatam.com vindi.com.br yapay.com.br nupay.com.br spinpay.com.br pagaleve.com pagaleve.com.br koin.com.br "+
		"pagar.me mundipagg.com stone.com.br",
	"iugu.com picpay.com ebanx.com ebanxpay.com dlocal.com cielo.com.br braspag.com.br userede.com.br getnet.com.br sejaefi.com.br "+
		"efipay.com.br gerencianet.com.br juno.com.br",
	"boletobancario.com paghiper.com openpix.com.br woovi.com zoop.com.br zoop.ws safe2pay.com.br amedigital.com recargapay.com.br",
	"checkout.stripe.com hooks.stripe.com js.stripe.com buy.stripe.com pay.google.com pay.amazon.com payments.amazon.com adyen.com "+
		"klarna.com klarna.net",
	"affirm.com afterpay.com clearpay.co.uk worldpay.com checkout.com braintreegateway.com authorize.net 2checkout.com mollie.com "+
		"paddle.com skrill.com alipay.com",
	// Banks, for 3-D Secure and Pix, and those that run it for them.
	"itau.com.br bradesco.com.br banco.bradesco santander.com.br bb.com.br caixa.gov.br nubank.com.br bancointer.com.br inter.co "+
		"c6bank.com.br sicoob.com.br sicredi.com.br",
	"banrisul.com.br safra.com.br bancooriginal.com.br neon.com.br bancopan.com.br btgpactual.com xpi.com.br cardinalcommerce.com "+
		"3dsecure.io arcot.com rsa3dsauth.com",
	"netcetera.com modirum.com securesuite.net",
	// Platforms and their checkouts.
	"vtex.com vtex.com.br vtexpayments.com.br vtexcommercestable.com.br myvtex.com shopify.com myshopify.com shop.app nuvemshop.com.br "+
		"lojavirtualnuvem.com.br tiendanube.com",
	"mitiendanube.com tray.com.br traycheckout.com.br commercesuite.com.br lojaintegrada.com.br yampi.com.br yampi.io cartpanda.com "+
		"mycartpanda.com appmax.com.br bagy.com.br",
	"hotmart.com eduzz.com monetizze.com.br kiwify.com.br kiwify.com braip.com perfectpay.com.br",
)

func hostSet(lists ...string) map[string]bool {
	set := map[string]bool{}
	for _, list := range lists {
		for host := range strings.FieldsSeq(list) {
			set[host] = true
		}
	}
	return set
}

// Passing reports whether a shopper who comes from a host, in lower case, has not
// arrived again. changes are a store's own (Settings.PassingHosts): a host is added,
// and with "-" before it taken away, each with all hosts below it. The longest name
// that says anything about the host counts.
func Passing(host string, changes []string) bool {
	for name := host; name != ""; {
		switch {
		case slices.Contains(changes, "-"+name):
			return false
		case passing[name], slices.Contains(changes, name):
			return true
		}
		_, name, _ = strings.Cut(name, ".")
	}
	return false
}
