"""Calls the admin API with the Python client that OpenAPI Generator makes: admin/clients_test.go."""

import datetime
import os

import tributary_admin as api

client = api.ApiClient(api.Configuration(host=os.environ["ADMIN_URL"], access_token=os.environ["API_KEY"]))
orders, influencers, reports = api.OrdersApi(client), api.InfluencersApi(client), api.ReportsApi(client)

made = influencers.register_influencer(
    api.Registration(
        name="Bia Lima",
        campaign_id="python",
        coupon_only=True,
        coupons=[api.RegistrationCouponsInner(cupom="BIA10")],
        costs=[api.Cost(var_fee=10, start_date=datetime.date(2026, 3, 1), is_coupon_cost=True)],
    )
)
assert made.success and made.data == [], made
sent = orders.send_order(
    api.Order(
        order_id="python-1",
        order_status=0,
        created_at=datetime.datetime(2026, 3, 15, 12, tzinfo=datetime.timezone.utc),
        total_price=199.90,
        currency="BRL",
        discount_code="BIA10",
        items=[api.OrderItem(item_id="v-1", quantity=2, price=90.5)],
    )
)
assert sent.success, sent
paid, free = orders.get_order("1").data, orders.get_order("2").data
assert paid.payout.influencer == "Ana Prado" and paid.payout.commissions[0].amount == 20, paid
assert free.subscription is None and free.discount_codes is None and free.number is None and free.total_price == 50.5, free
listed = [i for i in influencers.list_influencers().data if i.name == "Bia Lima"]
assert listed[0].coupons[0].code == "BIA10", listed
day = datetime.date(2026, 3, 10)
report = reports.report_sales(start_date=day, end_date=day, by="total").data
assert report.totals.sales == 200 and report.totals.roas is None and report.rows[0].orders == 1, report
try:
    orders.get_order("nowhere")
    raise AssertionError("no error")
except api.exceptions.NotFoundException as e:
    assert e.status == 404 and e.data.error.code == "not_found", e
try:
    influencers.register_influencer(api.Registration(name="Bia Lima", links=[api.RegistrationLinksInner(url="https://127.0.0.1/")]))
    raise AssertionError("no error")
except api.exceptions.BadRequestException as e:
    assert e.data.error.details[0].var_field == "links[0].url", e
print("called")
