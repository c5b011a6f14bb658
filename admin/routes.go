package admin

import (
	"net/http"

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
	scope  commerce.Scope // empty: the operation checks it, by what is asked
	rate   rateClass
	handle func(w http.ResponseWriter, r *http.Request, c caller) (answer, error)
}

// writes reports whether the operation changes anything.
func (r route) writes() bool {
	return r.method != http.MethodGet && r.method != http.MethodHead && r.path != previewPath
}

// routes is every operation, each served under both base paths.
func (s *Server) routes() []route {
	return append([]route{
		{http.MethodPost, "/influencers", commerce.WriteInfluencers, ruleRate, s.makes(s.createInfluencer)},
		{http.MethodGet, "/influencers", commerce.ReadInfluencers, ruleRate, s.listInfluencers},
		{http.MethodPut, "/influencers", commerce.WriteInfluencers, ruleRate, s.makes(s.updateInfluencer)},
		{http.MethodDelete, "/influencers", commerce.WriteInfluencers, ruleRate, s.makes(s.deleteInfluencer)},
		{http.MethodGet, "/influencers/costs", commerce.ReadInfluencers, ruleRate, s.listInfluencerCosts},
		{http.MethodPost, "/influencers/costs", commerce.WriteInfluencers, ruleRate, s.makes(s.createInfluencerCost)},
		{http.MethodDelete, "/influencers/costs", commerce.WriteInfluencers, ruleRate, s.makes(s.deleteInfluencerCost)},
		{http.MethodPost, "/influencers/coupons", commerce.WriteInfluencers, ruleRate, s.makes(s.createCoupon)},
		{http.MethodDelete, "/influencers/coupons", commerce.WriteInfluencers, ruleRate, s.makes(s.deleteCoupon)},
		{http.MethodGet, "/costs", commerce.ReadCosts, ruleRate, s.listCosts},
		{http.MethodPost, "/costs", commerce.WriteCosts, ruleRate, s.createCost},
		{http.MethodPut, "/costs", commerce.WriteCosts, ruleRate, s.updateCost},
		{http.MethodDelete, "/costs", commerce.WriteCosts, ruleRate, s.deleteCost},
		{http.MethodGet, "/costs/historical", commerce.ReadCosts, ruleRate, s.costHistory},
		{http.MethodPost, "/order", commerce.WriteOrders, ingestRate, s.postOrder},
		{http.MethodGet, "/order/{orderId}/attribution", commerce.ReadInfluencers, ruleRate, s.orderAttribution},
		{http.MethodPost, "/order/{orderId}/evidence", commerce.WriteEvidence, ruleRate, s.makes(s.decideEvidence)},
		{http.MethodPost, "/erasures", commerce.EraseCustomers, ruleRate, s.makes(s.erase)},
		{http.MethodPost, previewPath, "", ruleRate, s.preview},
		{http.MethodPost, "/product", commerce.WriteProducts, ingestRate, s.postProduct},
		{http.MethodGet, "/order/{orderId}", commerce.ReadReports, ruleRate, s.getOrder},
		{http.MethodGet, "/orders", commerce.ReadReports, ruleRate, s.listOrders},
		{http.MethodGet, "/products", commerce.ReadReports, ruleRate, s.listProducts},
		{http.MethodGet, "/payouts", commerce.ReadReports, ruleRate, s.listPayouts},
		{http.MethodGet, "/ledger", commerce.ReadReports, ruleRate, s.listLedger},
		{http.MethodPost, "/statements", commerce.WriteInfluencers, ruleRate, s.closeStatements},
		{http.MethodGet, "/statements", commerce.ReadReports, ruleRate, s.listStatements},
		{http.MethodGet, "/statements/{id}", commerce.ReadReports, ruleRate, s.getStatement},
		{http.MethodPost, "/statements/{id}/payment", commerce.WriteInfluencers, ruleRate, s.payStatement},
		{http.MethodPost, "/statements/{id}/link", commerce.WriteInfluencers, ruleRate, s.linkStatement},
		{http.MethodGet, "/reports/signs", commerce.ReadReports, ruleRate, s.listSigns},
	}, s.reportRoutes()...)
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
