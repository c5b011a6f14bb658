package books

import "context"

// Store reads what is to be equal. internal/postgres/upkeep.Books is one. It is asked
// outside transactions of the processor.
type Store interface {
	// Imbalances returns where the credits of a company's days are not what the approved
	// orders come to, the first most of them.
	Imbalances(ctx context.Context, companyID string, days []string, most int) ([]Imbalance, error)

	// SoldDays returns the days before one that have orders, the newest first.
	SoldDays(ctx context.Context, companyID, before string, limit int) ([]SoldDay, error)
}

// Companies lists companies. processor.Store is one.
type Companies interface {
	// CompaniesAfter returns the ids of companies, in their order, that come after one.
	CompaniesAfter(ctx context.Context, companyID string, limit int) ([]string, error)
}
