package core

// normalName is the canonical name of an event: ours, or the GA4, Segment,
// Shopify and Meta spelling of one of the five. ok is false for what is
// neither that nor a custom name.
//
// Sources: developers.google.com/analytics/devguides/collection/ga4/reference/events,
// segment.com/docs/connections/spec/ecommerce/v2,
// shopify.dev/docs/api/web-pixels-api/standard-events,
// developers.facebook.com/docs/meta-pixel/reference.
func normalName(name string) (canonical string, ok bool) {
	switch name {
	case PageView, "page_view", "page_viewed", "pageview", "PageView", "Page Viewed", "Loaded a Page":
		return PageView, true
	case ProductView, "view_item", "product_viewed", "Product Viewed", "ViewContent":
		return ProductView, true
	case AddToCart, "add_to_cart", "product_added_to_cart", "product_added", "Product Added", "AddToCart":
		return AddToCart, true
	case InitiateCheckout, "begin_checkout", "checkout_started", "initiate_checkout", "Checkout Started", "InitiateCheckout":
		return InitiateCheckout, true
	case CheckoutCompleted, "purchase", "checkout_completed", "order_completed", "Order Completed", "Checkout Completed", "Purchase":
		return CheckoutCompleted, true
	}
	if name == "" || len(name) > 64 || name[0] < 'A' || name[0] > 'Z' {
		return "", false
	}
	for i := 1; i < len(name); i++ {
		c := name[i]
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' {
			return "", false
		}
	}
	return name, true
}
