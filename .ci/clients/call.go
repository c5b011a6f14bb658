// Command clients calls the admin API with the Go client that OpenAPI Generator makes, which is put beside it: admin/clients_test.go.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/tributary-io/tributary/ci/clients/openapi"
)

// check ends the program where something is not as it should be.
func check(good bool, what ...any) {
	if !good {
		text, _ := json.Marshal(what) //nolint:errchkjson // to be read by a person
		log.Fatalf("%v: %s", what, text)
	}
}

func main() {
	config := openapi.NewConfiguration()
	config.Servers = openapi.ServerConfigurations{{URL: os.Getenv("ADMIN_URL")}}
	client := openapi.NewAPIClient(config)
	ctx := context.WithValue(context.Background(), openapi.ContextAccessToken, os.Getenv("API_KEY"))

	influencer := openapi.NewRegistration("Edu Prates")
	influencer.SetCouponOnly(true)
	influencer.Coupons = []openapi.RegistrationCouponsInner{*openapi.NewRegistrationCouponsInner("EDU10")}
	cost := openapi.NewCost("2026-03-01")
	cost.SetVarFee(10)
	influencer.Costs = []openapi.Cost{*cost}
	made, _, err := client.InfluencersAPI.RegisterInfluencer(ctx).Registration(*influencer).Execute()
	check(err == nil && made.Success, err, made)

	order := openapi.NewOrder("go-1", 0, time.Now(), 199.90, "BRL")
	order.SetDiscountCode("EDU10")
	sent, _, err := client.OrdersAPI.SendOrder(ctx).Order(*order).Execute()
	check(err == nil && sent.Success, err, sent)

	paid, _, err := client.OrdersAPI.GetOrder(ctx, "1").Execute()
	check(err == nil, err)
	payout := paid.Data.Payout.Get()
	check(payout != nil && payout.GetInfluencer() == "Ana Prado" && payout.Commissions[0].Amount == 20, paid)
	free, _, err := client.OrdersAPI.GetOrder(ctx, "2").Execute()
	check(err == nil && free.Data.Subscription.Get() == nil && free.Data.DiscountCodes == nil && free.Data.TotalPrice == 50.5, err, free)

	report, _, err := client.ReportsAPI.ReportSales(ctx).StartDate("2026-03-10").EndDate("2026-03-10").By(openapi.TOTAL).Execute()
	check(err == nil && report.Data.Totals.Sales == 200, err, report)

	_, answer, err := client.OrdersAPI.GetOrder(ctx, "nowhere").Execute()
	check(err != nil && answer.StatusCode == http.StatusNotFound, err, answer)
	failure, ok := err.(*openapi.GenericOpenAPIError).Model().(openapi.Failure) //nolint:errorlint,forcetypeassert // what the client promises
	check(ok && failure.Error.Code == "not_found", err)
	fmt.Println("called")
}
