-- +goose Up
-- +goose StatementBegin
-- What is derived from facts and rules: outcomes, the ledger, statements, and the sums that reports read. Written by the processor
-- alone, but for statements and their payments, which are asked for, and the reports of signs.

-- An order's outcome, one row an order: who won and on what evidence, its credits and its explanation. The columns stand so that no
-- row has bytes between them.
create table payout (
  total_minor      bigint not null,
  base_minor       bigint not null,
  commission_minor bigint not null, -- in the order's currency: net of the ledger, or expected while pending
  fixed_brl_minor  bigint not null default 0, -- fees in BRL of an order in another currency: owed beside commission_minor
  processed_at     timestamptz not null default now(), -- when the order, who is paid for it or is_first_order last changed
  day              date not null,   -- the order's
  payable_on       date,            -- null: nothing is owed
  status           smallint not null, -- the order's
  is_first_order   boolean,         -- of its customer; null: not known
  company_id       text not null,
  order_id         text not null,
  currency         text not null,   -- of all amounts but fixed_brl_minor
  influencer_id    uuid,            -- null: nobody
  coupon_id        uuid,            -- by which it is paid
  campaign_id      text,
  state            text not null default 'none' check (state in ('earned', 'expected', 'review', 'reversed', 'none')),
  reason           text not null default '', -- facts.Reason; '' where something is earned
  evidence         text check (evidence in ('coupon', 'link')),
  proof            text,                     -- facts.Proof of the winner's link; null: none
  names            bigint[],                 -- facts.NameDigest of names, codes and influencers of its touches: changed rules look for them
  credits          json,                     -- of an approved order (facts.Credit); the view credit has them as rows
  outcome_hash     bytea not null default '', -- facts.StoredOutcome.Hash: an equal one writes nothing
  explanation      bytea,                    -- packed (internal/postgres/explained), without its ledger
  formerly         boolean,                  -- true: it was an influencer's, at some time before, and a replay of webhooks tells it too
  primary key (company_id, order_id)
);
-- Lists of an influencer's orders, the newest first.
create index payout_influencer on payout (company_id, influencer_id, day) where influencer_id is not null;
-- A digest has the company in it: the index need not begin with it.
create index payout_names on payout using gin (names) where names is not null;
-- What pending orders and reviews would pay is summed from these.
create index payout_waiting on payout (company_id, influencer_id) where state in ('expected', 'review');
-- Pages look for what waits for a decision.
create index payout_review on payout (company_id, order_id) where state = 'review';
-- Live views catch up by it. All rows are in it; the condition keeps it from statements that
-- do not have it too: of a table without statistics it looks as good as the primary key.
create index payout_processed on payout (company_id, processed_at) where processed_at > '-infinity';

-- Channel credit, a row for each touch of an approved order. A model's column is null where the model leaves the touch out.
create view credit as
select p.company_id, p.order_id, (c ->> 0)::int as position, c ->> 1 as channel, nullif(c ->> 2, '')::uuid as influencer_id,
  nullif(c ->> 3, '') as campaign_id, p.currency, (c ->> 4)::bigint as first_minor, (c ->> 5)::bigint as last_minor,
  (c ->> 6)::bigint as last_non_direct_minor, (c ->> 7)::bigint as linear_minor, (c ->> 8)::bigint as position_minor,
  (c ->> 9)::bigint as time_decay_minor
from payout p
cross join lateral json_array_elements(p.credits) as l (c);

-- Append-only. The net per (order, cost, currency) is what is owed.
create table ledger_entry (
  company_id    text not null,
  order_id      text not null, -- of no order: commerce.AccountOf an agreement or a manual entry, which no order's id can be
  entry         int not null,  -- 1, 2, … within the order
  at            timestamptz not null,
  kind          text not null check (kind in ('earned', 'reversed', 'adjusted', 'bonus', 'adjustment', 'advance', 'product')),
  influencer_id uuid not null,
  campaign_id   text,
  cost_id       uuid not null, -- or the manual entry's id
  amount_minor  bigint not null,
  currency      text not null,
  payable_on    date not null,
  reverses      int, -- the entry it takes back
  rule_rev      bigint not null,
  cause         text not null, -- what made it (facts.Cause)
  statement_id  uuid,   -- the statement that it is in, set once; null: in none yet, and all below is null
  day           date,   -- the order's, in the store's time zone, as it was when the entry was put into the statement; else payable_on
  base_minor    bigint, -- of the order's commission, as it was then; null: the order is in another currency
  order_name    text,   -- what the shop called the order then; null: nothing
  value_minor   bigint, -- the order's total then; null: it is in another currency
  var_fee       numeric, -- percent, of the cost for which the entry is; null: the order is in another currency
  fixed_brl_minor bigint, -- that cost's fee of an order; null: the entry is not in BRL
  evidence      text check (evidence in ('coupon', 'link', 'assigned')), -- why the order was the influencer's then; null: it was not
  coupon_code   text,   -- of evidence 'coupon'
  primary key (company_id, order_id, entry)
);
create index ledger_influencer on ledger_entry (company_id, influencer_id, at);
create index ledger_at on ledger_entry (company_id, at, order_id, entry);
create index ledger_payable on ledger_entry (company_id, influencer_id, currency, payable_on) include (amount_minor, order_id)
  where statement_id is null;
-- Advances are paid when they are made: balances sum them.
create index ledger_advance on ledger_entry (company_id, influencer_id, currency) include (amount_minor) where kind = 'advance';
-- Reports have them as costs of their day.
create index ledger_manual_cost on ledger_entry (company_id, currency, payable_on) include (kind, influencer_id, amount_minor)
  where kind in ('bonus', 'adjustment');
-- Entries are summed in the order of bytes, some at a time.
create index ledger_statement on ledger_entry (company_id, statement_id, order_id collate "C", entry) where statement_id is not null;

-- What the merchant wrote into the ledger by hand. A row is there before its record is sent, so that an id has one content.
create table manual_entry (
  company_id    text not null,
  entry_id      uuid not null,
  influencer_id uuid not null,
  kind          text not null check (kind in ('bonus', 'adjustment', 'advance', 'product')),
  amount_minor  bigint not null, -- as in the ledger: an advance is negative
  currency      text not null,
  day           date not null,   -- from which it counts
  reason        text not null,
  asked_at      timestamptz not null,
  actor         text not null,
  accepted_at   timestamptz,     -- when its record was sent; null: the record has not come yet, and nothing is posted
  primary key (company_id, entry_id)
);

-- The last day that is closed: what agreements owe is posted up to it. It follows from a clock, so it is a fact.
create table closed_day (
  company_id text not null,
  day        date not null,
  primary key (company_id)
);

-- Influencers whose agreements are to be posted.
create table agreement_queue (
  company_id    text not null,
  influencer_id uuid not null,
  primary key (company_id, influencer_id)
);

-- A statement of one influencer and currency. What was asked for is there from the
-- beginning. What the processor found is null until it has closed the statement, and
-- never changes from then on.
create table statement (
  company_id    text not null,
  statement_id  uuid not null,
  rev           bigint not null, -- of the company's rules: statements are closed in this order
  influencer_id uuid not null,
  currency      text not null,
  end_date      date not null,   -- takes lines with payable_on up to this day
  minimum_minor bigint not null, -- a total below it is carried to the next statement
  asked_at      timestamptz not null,
  actor         text not null,
  summed        jsonb,           -- of its entries so far (statements.Sum), while it is closing and all of them are in it;
                                 -- null: they are not, or it is closed
  closed_at     timestamptz,
  number        bigint,          -- counts the company's statements in the order in which they were closed
  start_date    date,
  opening_minor numeric,         -- carried from the statement before
  total_minor   numeric,         -- opening_minor and the sum of its entries
  entries       bigint,          -- of the ledger
  lines         bigint,          -- orders of which it has a sum that is not zero
  carried       boolean,         -- the total is paid with the next statement
  run_id        uuid,            -- the first statement of those that are paid together with this one
  digest        bytea,           -- a chain of SHA-256 over its entries and parties (statements.Sum)
  primary key (company_id, statement_id)
);
create index statement_influencer on statement (company_id, influencer_id, currency, rev);
create index statement_closing on statement (company_id, rev) where closed_at is null;
-- `tributary export statements` reads them by the day.
create index statement_closed on statement (company_id, closed_at) where closed_at is not null;
create unique index statement_number on statement (company_id, number) where number is not null;

-- Who a closed statement is of, as it prints them. It is kept whatever becomes of the influencer.
create table statement_party (
  company_id     text not null,
  statement_id   uuid not null,
  store_name     text not null,
  store_document text not null,
  name           text not null, -- the influencer's
  document       text not null,
  pix_type       text not null,
  pix_key        text not null,
  pix_at         timestamptz, -- when and by whom the key last changed; null: never
  pix_by         text,
  primary key (company_id, statement_id)
);

create table statement_payment (
  company_id   text not null,
  statement_id uuid not null,
  rev          bigint not null,
  paid_at      timestamptz not null,
  reference    text not null,
  recorded_at  timestamptz not null,
  actor        text not null,
  undone_rev   bigint,           -- null: the payment stands
  undone_at    timestamptz,
  undone_by    text,
  undo_reason  text,
  primary key (company_id, statement_id, rev)
);
create unique index statement_payment_stands on statement_payment (company_id, statement_id) where undone_rev is null;

-- What the merchant withholds of a closed statement, as taxes, before it is paid, and the number of the influencer's invoice. Each
-- row takes the place of those of lower revisions.
create table statement_withholding (
  company_id   text not null,
  statement_id uuid not null,
  rev          bigint not null,
  list         jsonb not null,  -- of commerce.Withholding
  total_minor  bigint not null, -- of the list
  invoice      text not null,
  at           timestamptz not null,
  actor        text not null,
  primary key (company_id, statement_id, rev)
);

-- How often the links to a statement were revoked: a link says which number it was made
-- with, and works while that is the present one. No row: never.
create table statement_link (
  company_id   text not null,
  statement_id uuid not null,
  revoked      bigint not null,
  primary key (company_id, statement_id)
);

-- Orders to compute again, where a change concerns too many for its batch.
create table recompute (
  company_id text not null,
  order_id   text not null,
  cause      text not null,
  queued_at  timestamptz not null default now(),
  failure    text, -- why its outcome cannot be stored: it is quarantined, and ends nobody's queue
  primary key (company_id, order_id)
);

-- Orders that are still to be put into recompute, part by part: those of a company that were
-- created in a span, the newest first. A change of settings concerns all orders.
create table recompute_span (
  company_id text not null,
  lo         timestamptz not null, -- first created_at
  hi         timestamptz not null, -- last created_at
  cause      text not null,
  before_at  timestamptz not null, -- orders before this createdAt and id are left
  before_id  text not null,
  primary key (company_id, lo, hi)
);

-- The companies that have orders in recompute: a small local queue, so that no
-- statement looks for them over all companies.
create table recompute_company (
  company_id text primary key
);

-- What reports count of orders, summed by the day of createdAt in the store's time zone.
-- The processor adds what changes in the transaction in which an order changes
-- (internal/rollup). Texts that are empty are none. Sums of money are numeric: no store
-- can make them overflow.
create table sale_day (
  company_id               text not null,
  day                      date not null,
  currency                 text not null,
  influencer_id            text not null, -- who is paid
  campaign_id              text not null,
  coupon_id                text not null, -- by which coupon
  orders                   bigint not null, -- approved
  sales_minor              numeric not null,
  new_customers            bigint not null,
  returning_orders         bigint not null,
  commission_minor         numeric not null,
  pending_orders           bigint not null,
  pending_minor            numeric not null,
  pending_commission_minor numeric not null,
  cancelled_orders         bigint not null,
  cancelled_minor          numeric not null,
  review_orders            bigint not null,
  primary key (company_id, day, currency, influencer_id, campaign_id, coupon_id)
);

-- Channel credit of approved orders. Orders are sums of shares.
create table credit_day (
  company_id             text not null,
  day                    date not null,
  currency               text not null,
  channel                text not null,
  influencer_id          text not null,
  campaign_id            text not null,
  first_orders           numeric not null,
  first_minor            numeric not null,
  last_orders            numeric not null,
  last_minor             numeric not null,
  last_non_direct_orders numeric not null,
  last_non_direct_minor  numeric not null,
  linear_orders          numeric not null,
  linear_minor           numeric not null,
  position_orders        numeric not null,
  position_minor         numeric not null,
  time_decay_orders      numeric not null,
  time_decay_minor       numeric not null,
  primary key (company_id, day, currency, channel, influencer_id, campaign_id)
);

-- Items of approved orders. Sales are in units of the currency.
create table product_day (
  company_id text not null,
  day        date not null,
  currency   text not null,
  item       text not null, -- productId, else variantId, else item_id of the order's item
  orders     bigint not null,
  quantity   bigint not null,
  sales      numeric not null,
  primary key (company_id, day, currency, item)
);

-- The channels of approved orders' touches, in their order.
create table path_day (
  company_id  text not null,
  day         date not null,
  currency    text not null,
  path_id     bytea not null, -- the first 16 bytes of the SHA-256 of the channels, joined by U+001F
  path        text[] not null,
  orders      bigint not null,
  sales_minor numeric not null,
  primary key (company_id, day, currency, path_id)
);

-- What product_day, path_day and traffic_day have, by month: long reports read these. month is the
-- first day of a month.
create table product_month (
  company_id text not null,
  month      date not null,
  currency   text not null,
  item       text not null,
  orders     bigint not null,
  quantity   bigint not null,
  sales      numeric not null,
  primary key (company_id, month, currency, item)
);

create table path_month (
  company_id  text not null,
  month       date not null,
  currency    text not null,
  path_id     bytea not null,
  path        text[] not null,
  orders      bigint not null,
  sales_minor numeric not null,
  primary key (company_id, month, currency, path_id)
);

-- The parts of a month's paths that the models of many paths need. Of a channel that
-- follows itself there is no step.
create table journey_month (
  company_id  text not null,
  month       date not null,
  currency    text not null,
  size        int not null,  -- 0: a step; else of paths with so many distinct channels
  before      text not null, -- of a step: from which channel; '': from the start
  channel     text not null, -- of a step: to which channel, '': none follows; else one of the path's channels
  orders      bigint not null,
  sales_minor numeric not null,
  primary key (company_id, month, currency, size, before, channel)
);

-- Each visitor once a day, and once for each item and influencer's campaign of that day.
create table shopper_day (
  company_id text not null,
  day        date not null,     -- of the event, in the store's time zone
  visitor    bytea not null,    -- packed.ID
  of         text collate "C" not null, -- '': the store; p:<item>; i:<influencer>/<campaign>
  stages     smallint not null, -- bits of facts.Stage
  primary key (company_id, day, visitor, of)
);

-- How many visitors those are.
create table traffic_day (
  company_id text not null,
  day        date not null,
  of         text collate "C" not null,
  visited    bigint not null,
  viewed     bigint not null,
  added      bigint not null,
  checkout   bigint not null,
  bought     bigint not null,
  primary key (company_id, day, of)
);
-- Reads of the store and of influencers' campaigns pass by the items.
create index traffic_day_of on traffic_day (company_id, of, day) where of < 'p';

create table traffic_month (
  company_id text not null,
  month      date not null,
  of         text collate "C" not null,
  visited    bigint not null,
  viewed     bigint not null,
  added      bigint not null,
  checkout   bigint not null,
  bought     bigint not null,
  primary key (company_id, month, of)
);

-- How often short links were opened.
create table click_day (
  company_id text not null,
  day        date not null,
  code       text not null,
  clicks     bigint not null,
  primary key (company_id, day, code)
);

-- The non-converting paths of each day: visitors who came and did not buy, by the day of their last
-- touch in the store's time zone (docs/reports.md, "Non-converting paths"). They are counted after
-- the day is over, from facts alone.
create table nonconverting_day (
  company_id text not null,
  day        date not null,
  round      smallint not null,           -- facts.CountRound: how long after the day it was counted; 0: not yet
  recounts   smallint not null default 0, -- how often, one time soon after the other, a final day was counted again
  marks      bigint not null default 0,   -- how often facts changed which the last round reads
  counted    bigint not null default 0,   -- marks when the count began; fewer than now: it is counted again
  counted_at timestamptz,                 -- when the count began
  journeys   bigint not null default 0,
  left_out   bigint not null default 0,   -- of these: in no step, since the day has too many different steps
  steps      jsonb not null default '{}', -- rollup.Steps
  primary key (company_id, day)
);

-- The count that is under way, one a company at most.
create table nonconverting_count (
  company_id text not null,
  day        date not null,
  round      smallint not null,
  marks      bigint not null,      -- nonconverting_day.marks when it began
  began_at   timestamptz not null,
  after      bytea not null,       -- the last visitor that was looked at (packed.ID)
  journeys   bigint not null,
  left_out   bigint not null,
  steps      jsonb not null,
  primary key (company_id)
);

-- Reports of signs, as they were found (internal/postgres/report/signstore.go). They follow
-- from the orders and are made anew when these have changed.
create table sign_report (
  company_id text not null,
  start_date date not null,
  end_date   date not null,
  asked_at   timestamptz not null, -- last
  as_of      timestamptz not null,
  orders_at  timestamptz,          -- processed_at of the newest order then; null: there was none
  rules_rev  bigint not null,      -- of the company, then
  body       bytea not null,       -- signs.Report as JSON
  primary key (company_id, start_date, end_date)
);

-- The companies whose reports of signs were asked for: of these they are made anew.
create table sign_job (
  company_id text primary key,
  asked_at   timestamptz not null, -- last
  done_at    timestamptz not null  -- when their reports were looked at last
);
-- +goose StatementEnd
