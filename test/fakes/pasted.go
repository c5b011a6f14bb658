package fakes

// Pasted is what a merchant pastes to connect the shop, by the names of the product's fields, and the platform's hosts for which the
// shop stands.
func Pasted(s *Shop) (credentials map[string]string, hosts []string) {
	key := s.Key
	switch s.Options().Platform {
	case "nuvemshop":
		return map[string]string{"store_id": key("store_id"), "access_token": key("access_token"), "app_secret": key("client_secret"),
			"scope": key("scope")}, []string{"api.nuvemshop.com.br", "www.nuvemshop.com.br", "www.tiendanube.com"}
	case "shopify":
		return map[string]string{"shop": key("shop"), "client_id": key("client_id"), "client_secret": key("client_secret")},
			[]string{key("shop")}
	case "vtex":
		return map[string]string{"account": key("account"), "app_key": key("app_key"), "app_token": key("app_token")},
			[]string{key("account") + ".vtexcommercestable.com.br"}
	case "woocommerce":
		return map[string]string{"url": "https://loja.example.com", "consumer_key": key("consumer_key"),
			"consumer_secret": key("consumer_secret")}, []string{"loja.example.com"}
	}
	return map[string]string{"alias": key("alias"), "user_token": key("user_token"), "secret_key": key("user_secret_key")},
		[]string{"api.dooki.com.br"}
}
