// What follows the example of docs/api.md: admin/clients_test.go.
const check = (good: unknown, what: unknown): void => {
  if (!good) throw new Error(JSON.stringify(what));
};
const made = await api.POST("/influencers", {
  body: {
    name: "Dani Rocha",
    coupon_only: true,
    coupons: [{ cupom: "DANI10" }],
    costs: [{ var_fee: 10, start_date: "2026-03-01", is_coupon_cost: true }],
  },
});
check(made.data?.success, made.error);
const paid = await api.GET("/order/{orderId}", { params: { path: { orderId: "1" } } });
check(paid.data?.data.payout?.influencer === "Ana Prado" && paid.data.data.payout.commissions[0]?.amount === 20, paid);
const free = await api.GET("/order/{orderId}", { params: { path: { orderId: "2" } } });
check(free.data?.data.subscription === null && free.data.data.discountCodes === null && free.data.data.totalPrice === 50.5, free);
const report = await api.GET("/reports/sales", {
  params: { query: { start_date: "2026-03-10", end_date: "2026-03-10", by: "total" } },
});
check(report.data?.data.totals.sales === 200, report);
const nowhere = await api.GET("/order/{orderId}", { params: { path: { orderId: "nowhere" } } });
check(nowhere.response.status === 404 && nowhere.error?.error.code === "not_found", nowhere);
// The types refuse what is not there.
// @ts-expect-error
const noPath = (): unknown => api.GET("/nowhere");
// @ts-expect-error
const noField = (): unknown => api.POST("/product", { body: { productId: "1", productName: "x", status: "none" } });
void [noPath, noField];
console.log("called");
