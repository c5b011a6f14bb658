// Package platforms is the list of the shop platforms that the connect service knows.
package platforms

import (
	"github.com/tributary-io/tributary/connect/nuvemshop"
	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/connect/shopify"
	"github.com/tributary-io/tributary/connect/vtex"
	"github.com/tributary-io/tributary/connect/woocommerce"
	"github.com/tributary-io/tributary/connect/yampi"
)

// All returns every platform, in the order in which merchants see them.
func All() []platform.Platform {
	return []platform.Platform{nuvemshop.New(), shopify.New(), vtex.New(), woocommerce.New(), yampi.New()}
}
