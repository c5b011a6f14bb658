package assistant

import (
	"slices"

	"github.com/tributary-io/tributary/internal/models"
	"github.com/tributary-io/tributary/internal/reports"
)

// What is given of each thing. Nothing here names, describes or proves a shopper, or says where an influencer's
// money goes.
var (
	sum  = object(numbers("amount"), texts("currency"))
	sums = list(sum)

	orderShape = object(texts("orderId name createdAt updatedAt deliveredAt processedAt currency discountCode "+
		"utmSource utmMedium utmCampaign utmContent utmTerm"),
		numbers("number totalPrice totalDiscounts shippingPrice taxPrice"),
		one("orderStatus", said("0 approved, 1 pending, 2 cancelled", shape{kind: "integer"})),
		flags("isFirstOrder test noCommission"),
		one("discountCodes", list(object(texts("code"), numbers("amount")))),
		one("items", list(object(texts("item_id productId variantId"), numbers("quantity price discount")))),
		one("payout", said("who is paid; absent until it is computed",
			object(texts("state reason influencer_id influencer campaign_id campaign evidence proof payable_on"), one("commissions", sums)))))

	payoutShape = object(
		one("winner", said("who is paid; absent for nobody",
			object(texts("influencer influencer_id campaign campaign_id evidence proof")))),
		texts("rule state reason note payable_on base_is"), numbers("base commission"),
		one("losers", list(object(texts("influencer evidence reason")))),
		one("costs", said("the agreements that the commission rests on",
			list(object(texts("level"), numbers("fixed_fee var_fee revision amount"), one("amounts", sums))))),
		one("commissions", sums))

	creditShape = list(object(texts("channel influencer"), numbers("share amount")))

	explanationShape = object(
		flags("recomputing"),
		one("order", object(texts("orderId currency createdAt day"), numbers("total status tax"), flags("test"),
			one("codes", list(object(texts("code influencer influencer_id reason"), numbers("amount"), flags("decides")))),
			one("customer_is", said("influencers who are the order's buyer", list(object(texts("influencer influencer_id"))))))),
		one("payout", payoutShape),
		one("touches", said("every visit that was considered, and why it counted or not",
			list(object(texts("at source medium campaign channel influencer influencer_id evidence matched_by proof reason"), flags("used"))))),
		one("keys", said("the kinds of what joined the order to visitors, strongest first",
			list(object(texts("kind hub_of"), numbers("strength visitors"), flags("hub"))))),
		one("cuts", said("evidence that a limit left out", list(object(texts("what kind limit"))))),
		one("decisions", list(object(texts("influencer influencer_id decision at reason")))),
		one("models", said("channel credit by each model", object(modelFields()))),
		one("counterfactual", object(one("without_coupon", payoutShape), one("without_link", payoutShape))),
		one("ledger", list(object(texts("at kind influencer influencer_id currency payable_on cause"), numbers("entry amount reverses")))))

	influencerShape = object(texts("id name category"),
		one("former_names", list(shape{kind: "string"})),
		one("campaigns", list(object(texts("id name")))),
		one("links", list(object(texts("campaignId url short_url")))),
		one("coupons", list(object(texts("campaignId code startDate endDate")))),
		one("costs", said("the agreements, as the store set them", list(object(texts("level attribution startDate endDate campaignId"),
			one("config", object(one("porEntrega", object(numbers("value"), texts("frequency"))), one("comissaoFixa", object(numbers("value"))),
				one("comissaoVariavel", object(numbers("percentage"))))))))))

	balanceShape = object(texts("influencer_id influencer currency"), numbers("expected review held payable paid withheld"))

	entryShape = object(texts("entry_id orderId of reason influencer_id influencer kind reverses currency at payable_on state "+
		"statement_id cause"), numbers("amount"))

	statementFields = slices.Concat(texts("id influencer_id influencer currency start_date end_date state asked_at closed_at"),
		numbers("number opening line_count total net minimum_payout"), flags("carried"),
		one("withholdings", list(object(texts("name"), numbers("amount")))), one("payment", object(texts("paid_at"))))

	statementLineShape = object(texts("orderId name of kind reason date evidence coupon cause"), numbers("amount value base"),
		one("rates", list(object(numbers("var_fee fixed_fee")))))

	productShape = object(texts("productId productName createdAt updatedAt"), numbers("status"),
		one("variants", list(object(texts("variantId title sku currency"), numbers("price")))))

	rate = object(numbers("count of"))

	signShape = object(texts("kind influencer influencer_id code since"), numbers("orders"),
		one("observed", said("what was seen", rate)), one("usual", said("how often it is seen otherwise", rate)),
		one("newest_orders", list(shape{kind: "string"})), one("sources", list(object(texts("source"), numbers("orders")))),
		one("costs", said("what it cost", list(object(texts("currency"), numbers("commission turnover"))))))
)

func modelFields() (fields []field) {
	for _, model := range models.All {
		fields = append(fields, field{model, creditShape})
	}
	return fields
}

// reportShapes are a row of any report, and its totals. A report has the columns of its own.
func reportShapes() (row, totals shape) {
	var dimensions, metrics []field
	for _, spec := range reports.Specs() {
		for _, name := range spec.Dimensions {
			dimensions = add(dimensions, field{name, shape{kind: "string"}})
		}
		for _, m := range spec.Metrics {
			metrics = add(metrics, field{m.Name, shape{kind: "number"}})
		}
	}
	return object(texts("period"), dimensions, metrics), object(metrics)
}

func add(fields []field, f field) []field {
	if slices.ContainsFunc(fields, func(other field) bool { return other.name == f.name }) {
		return fields
	}
	return append(fields, f)
}
