package admin

import (
	"context"
	"net/http"
	"slices"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// Base paths of the two environments.
const (
	liveBase    = "/admin/v1"
	sandboxBase = "/sandbox/admin/v1"
)

// Paths for operators.
const (
	healthPath  = "/healthz"
	readyPath   = "/readyz"
	metricsPath = "/metrics"
)

// route is one operation of the API.
type route struct {
	method string
	path   string
	scope  account.Scope // empty: the operation checks it, by what is asked
	rate   rateClass
	handle handler
}

// handler runs an operation.
type handler func(w http.ResponseWriter, r *http.Request, c caller) (answer, error)

// takes is the handler of an operation whose body is one object. ctx ends in time.
func (s *Server) takes(do func(ctx context.Context, r *http.Request, c caller, o object) (answer, error)) handler {
	return func(w http.ResponseWriter, r *http.Request, c caller) (answer, error) {
		o, err := readObject(w, r)
		if err != nil {
			return answer{}, err
		}
		ctx, cancel := context.WithTimeout(r.Context(), s.config.DependencyTimeout)
		defer cancel()
		return do(ctx, r, c, o)
	}
}

// reads is the handler of an operation without a body. ctx ends in time.
func (s *Server) reads(do func(ctx context.Context, r *http.Request, c caller) (answer, error)) handler {
	return func(_ http.ResponseWriter, r *http.Request, c caller) (answer, error) {
		ctx, cancel := context.WithTimeout(r.Context(), s.config.DependencyTimeout)
		defer cancel()
		return do(ctx, r, c)
	}
}

// writes reports whether the operation changes anything.
func (r route) writes() bool {
	return r.method != http.MethodGet && r.method != http.MethodHead && r.path != previewPath && r.path != exportPath
}

// routes is every operation, each served under both base paths.
func (s *Server) routes() []route {
	return append([]route{
		{http.MethodPost, "/influencers", account.WriteInfluencers, ruleRate, s.makes(s.createInfluencer)},
		{http.MethodGet, "/influencers", account.ReadInfluencers, ruleRate, s.listInfluencers},
		{http.MethodPut, "/influencers", account.WriteInfluencers, ruleRate, s.makes(s.updateInfluencer)},
		{http.MethodDelete, "/influencers", account.WriteInfluencers, ruleRate, s.makes(s.deleteInfluencer)},
		{http.MethodPost, "/influencers/restore", account.WriteInfluencers, ruleRate, s.makes(s.restoreInfluencer)},
		{http.MethodDelete, "/influencers/details", account.EraseCustomers, ruleRate, s.makes(s.eraseInfluencer)},
		{http.MethodGet, "/influencers/costs", account.ReadInfluencers, ruleRate, s.listInfluencerCosts},
		{http.MethodPost, "/influencers/costs", account.WriteInfluencers, ruleRate, s.makes(s.createInfluencerCost)},
		{http.MethodDelete, "/influencers/costs", account.WriteInfluencers, ruleRate, s.makes(s.deleteInfluencerCost)},
		{http.MethodPost, "/influencers/coupons", account.WriteInfluencers, ruleRate, s.makes(s.createCoupon)},
		{http.MethodDelete, "/influencers/coupons", account.WriteInfluencers, ruleRate, s.makes(s.deleteCoupon)},
		{http.MethodGet, "/costs", account.ReadCosts, ruleRate, s.reads(s.listCosts)},
		{http.MethodPost, "/costs", account.WriteCosts, ruleRate, s.takes(s.createCost)},
		{http.MethodPut, "/costs", account.WriteCosts, ruleRate, s.takes(s.updateCost)},
		{http.MethodDelete, "/costs", account.WriteCosts, ruleRate, s.takes(s.deleteCost)},
		{http.MethodGet, "/costs/historical", account.ReadCosts, ruleRate, s.reads(s.costHistory)},
		{http.MethodPost, "/order", account.WriteOrders, ingestRate, s.postOrder},
		{http.MethodGet, "/order/{orderId}/attribution", account.ReadInfluencers, ruleRate, s.reads(s.orderAttribution)},
		{http.MethodPost, "/order/{orderId}/evidence", account.WriteEvidence, ruleRate, s.makes(s.decideEvidence)},
		{http.MethodPost, "/order/{orderId}/assignment", account.AssignOrders, ruleRate, s.makes(s.assignOrder)},
		{http.MethodPost, "/erasures", account.EraseCustomers, ruleRate, s.makes(s.erase)},
		{http.MethodGet, "/erasures/{id}", account.EraseCustomers, ruleRate, s.reads(s.getErasure)},
		{http.MethodPost, exportPath, account.ExportCustomers, ruleRate, s.export},
		{http.MethodPost, previewPath, "", ruleRate, s.preview},
		{http.MethodPost, "/product", account.WriteProducts, ingestRate, s.postProduct},
		{http.MethodGet, "/order/{orderId}", account.ReadReports, ruleRate, s.reads(s.getOrder)},
		{http.MethodPost, ordersPath, account.WriteOrders, bulkRate, s.postOrders},
		{http.MethodGet, ordersPath, account.ReadReports, ruleRate, s.reads(s.listOrders)},
		{http.MethodGet, "/products", account.ReadReports, ruleRate, s.reads(s.listProducts)},
		{http.MethodGet, "/payouts", account.ReadReports, ruleRate, s.reads(s.listPayouts)},
		{http.MethodGet, "/ledger", account.ReadReports, ruleRate, s.reads(s.listLedger)},
		{http.MethodPost, "/ledger", account.WriteLedger, ruleRate, s.takes(s.addEntry)},
		{http.MethodPost, "/statements", account.WriteInfluencers, ruleRate, s.takes(s.closeStatements)},
		{http.MethodGet, "/statements", account.ReadReports, ruleRate, s.reads(s.listStatements)},
		{http.MethodGet, "/statements/{id}", account.ReadReports, ruleRate, s.reads(s.getStatement)},
		{http.MethodPost, "/statements/{id}/payment", account.WriteInfluencers, ruleRate, s.takes(s.payStatement)},
		{http.MethodDelete, "/statements/{id}/payment", account.WriteInfluencers, ruleRate, s.takes(s.undoPayment)},
		{http.MethodPut, "/statements/{id}/withholdings", account.WriteInfluencers, ruleRate, s.takes(s.withhold)},
		{http.MethodPost, "/statements/{id}/link", account.WriteInfluencers, ruleRate, s.takes(s.linkStatement)},
		{http.MethodGet, "/reports/signs", account.ReadReports, ruleRate, s.listSigns},
		{http.MethodGet, keyPath, "", ruleRate, s.reads(s.getKey)},
	}, slices.Concat(s.reportRoutes(), s.webhookRoutes(), s.conversionRoutes())...)
}

// mount registers every path of the API on a mux. Patterns have no method, so
// that a wrong one is answered in our envelope.
func (s *Server) mount(mux *http.ServeMux) {
	unknown := plain("unknown", http.HandlerFunc(s.unknownRoute))
	for base, environment := range map[string]string{liveBase: commerce.Live, sandboxBase: commerce.Sandbox} {
		methods := map[string]map[string]route{}
		for _, r := range s.routes() {
			if methods[r.path] == nil {
				methods[r.path] = map[string]route{}
			}
			methods[r.path][r.method] = r
		}
		for path, byMethod := range methods {
			mux.Handle(base+path, s.resource(base+path, environment, byMethod))
		}
		for path, file := range s.reference {
			mux.Handle(base+path, plain(base+path, s.serve(file)))
		}
		mux.Handle(base, unknown)
		mux.Handle(base+"/", unknown)
	}
	mux.Handle(healthPath, plain(healthPath, http.HandlerFunc(s.health)))
	mux.Handle(readyPath, plain(readyPath, s.ready(!s.config.Internal)))
	if !s.config.Internal {
		mux.Handle(metricsPath, plain(metricsPath, s.metrics.handler()))
	}
	mux.Handle("/", unknown)
}

// Internal serves what is for the installation's own people, on a port that the
// internet does not reach: /healthz, /readyz with all details, and /metrics. See
// Config.Internal.
func (s *Server) Internal() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+healthPath, plain(healthPath, http.HandlerFunc(s.health)))
	mux.Handle("GET "+readyPath, plain(readyPath, s.ready(true)))
	mux.Handle("GET "+metricsPath, plain(metricsPath, s.metrics.handler()))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.observer.serve(w, r, mux, s.writeProblem)
	})
}
