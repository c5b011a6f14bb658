package dashboard

import (
	"context"

	"github.com/tributary-io/tributary/admin/dashboard/events"
	"github.com/tributary-io/tributary/admin/dashboard/login"
	"github.com/tributary-io/tributary/admin/dashboard/mails"
	"github.com/tributary-io/tributary/admin/dashboard/money"
	"github.com/tributary-io/tributary/admin/dashboard/report"
	"github.com/tributary-io/tributary/admin/dashboard/rules"
	"github.com/tributary-io/tributary/admin/dashboard/shops"
	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/admin/dashboard/webhooks"
	"github.com/tributary-io/tributary/internal/account"
)

// Database is what the pages read and keep, subject by subject; implemented by
// internal/postgres. Errors are internal/commerce's kinds.
type Database interface {
	login.Database
	rules.Database
	rules.Importer
	rules.Partners
	money.Database
	report.Database
	events.Database
	shops.Database
	webhooks.Database
	mails.Database
	site.Versions
	StillWatching(ctx context.Context, list []account.Watch) ([]account.Watch, error)
}
