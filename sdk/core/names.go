package core

// spelling is another name of one of the five events.
type spelling struct{ name, canonical string }

// spellings is the one list of the names that other tools give the five events.
//
// Sources: developers.google.com/analytics/devguides/collection/ga4/reference/events,
// segment.com/docs/connections/spec/ecommerce/v2,
// shopify.dev/docs/api/web-pixels-api/standard-events,
// developers.facebook.com/docs/meta-pixel/reference.
var spellings = [...]spelling{
	{"page_view", PageView}, {"page_viewed", PageView}, {"pageview", PageView},
	{"PageView", PageView}, {"Page Viewed", PageView}, {"Loaded a Page", PageView},

	{"view_item", ProductView}, {"product_viewed", ProductView}, {"Product Viewed", ProductView}, {"ViewContent", ProductView},

	{"add_to_cart", AddToCart}, {"product_added_to_cart", AddToCart}, {"product_added", AddToCart},
	{"Product Added", AddToCart}, {"AddToCart", AddToCart},

	{"begin_checkout", InitiateCheckout}, {"checkout_started", InitiateCheckout}, {"initiate_checkout", InitiateCheckout},
	{"Checkout Started", InitiateCheckout}, {"InitiateCheckout", InitiateCheckout},

	{"purchase", CheckoutCompleted}, {"checkout_completed", CheckoutCompleted}, {"order_completed", CheckoutCompleted},
	{"Order Completed", CheckoutCompleted}, {"Checkout Completed", CheckoutCompleted}, {"Purchase", CheckoutCompleted},
}

// Names returns every name that an event of the five may be sent under: the
// canonical ones, and the spellings of GA4, Segment, Shopify and Meta.
func Names() []string {
	names := []string{PageView, ProductView, AddToCart, InitiateCheckout, CheckoutCompleted}
	for _, s := range &spellings {
		names = append(names, s.name)
	}
	return names
}

// CanonicalName returns the canonical name of an event: a custom name is its own.
// ok is false for what is neither that nor a spelling.
func CanonicalName(name string) (canonical string, ok bool) {
	if isCustomName(name) { // the five canonical names are of that form too
		return name, true
	}
	for i := range spellings {
		if spellings[i].name == name {
			return spellings[i].canonical, true
		}
	}
	return "", false
}

// isCustomName tells whether a name is of the form [A-Z][A-Z0-9_]{0,63}.
func isCustomName(name string) bool {
	if name == "" || len(name) > 64 || name[0] < 'A' || name[0] > 'Z' {
		return false
	}
	for i := 1; i < len(name); i++ {
		c := name[i]
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}
