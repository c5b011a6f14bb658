-- Spreads a store's data over the workers of Citus by company. docs/capacity.md says when
-- that is worth it and how, and what of it was run.
--
-- Run it on the coordinator, once the workers are added and `tributary migrate` has run, with
-- all processors and admins stopped:
--
--   psql -v ON_ERROR_STOP=1 -f deploy/citus/distribute.sql "$TRIBUTARY_POSTGRES"
--
-- It is one transaction. Run it again after each later `tributary migrate`: what is
-- distributed already stays as it is, and new tables are added. A test holds the lists to
-- the schema.
begin;

do $$
declare
  -- Rows of one company beside another's. All are in one group, so that a company's rows
  -- of all tables lie on one worker. A partitioned table is distributed with its partitions.
  distributed constant text[] := array[
    -- what merchants set up
    'influencer', 'campaign', 'link', 'coupon', 'cost', 'additional_cost', 'additional_cost_version',
    'former_name', 'influencer_personal', 'influencer_identity', 'self_purchase',
    'past_setting', 'influencer_unproven', 'evidence_decision', 'proposal', 'audit_log', 'idempotency', 'retention',
    'connection', 'connection_notice', 'connection_task', 'connection_aside', 'connection_day', 'connection_coupon',
    'connection_request', 'shop_order',
    -- what leaves
    'outgoing', 'outgoing_number', 'conversion',
    -- facts
    'event_fact', 'observation', 'order_version', 'order_personal', 'orders', 'order_key',
    'product', 'product_variant', 'delivery', 'evidence_snapshot',
    'stream', 'delivery_day', 'delivery_source', 'delivery_seen', 'refused_origin',
    'erasure', 'erasure_key', 'erasure_visitor', 'erased_order', 'erased_key', 'snapshot_first',
    'export', 'export_day', 'erasure_export',
    -- outcomes
    'payout', 'ledger_entry', 'manual_entry', 'closed_day', 'agreement_queue', 'recompute', 'recompute_span',
    'statement', 'statement_party', 'statement_payment', 'statement_withholding', 'statement_link',
    -- sums that reports read
    'sale_day', 'credit_day', 'product_day', 'path_day', 'product_month', 'path_month', 'journey_month', 'traffic_month',
    'shopper_day', 'traffic_day', 'click_day', 'nonconverting_day', 'nonconverting_count', 'sign_report'
  ];
  -- Of the control plane, on the coordinator alone, and known to Citus. They are written in
  -- the transactions that write distributed tables: so those are committed in two phases,
  -- and after a crash of the coordinator neither is ahead of the other.
  managed constant text[] := array[
    'consumer_offset', -- with each batch of the processor
    'outbox',          -- with each change of rules
    'connection_turn', -- with each change of a connection
    'destination'      -- with the events that go there
  ];
  -- Of the control plane, plain tables of the coordinator: nothing is done with them.
  untouched constant text[] := array[
    'store', 'company', 'api_key', 'person', 'membership', 'person_session', 'log_in_made', 'invitation',
    'short_code', 'recompute_company', 'sign_job', 'schema_migration', 'oldest_program', 'installation', 'connect_offer'
  ];
  name text;
begin
  foreach name in array distributed || managed || untouched loop
    if to_regclass(name) is null then
      raise exception 'the table % is missing: run `tributary migrate` of this version first', name;
    end if;
  end loop;
  foreach name in array distributed loop
    if not exists (select from pg_dist_partition where logicalrelid = name::regclass) then
      perform create_distributed_table(name::regclass, 'company_id', colocate_with => case when name = distributed[1] then 'none'
      	else distributed[1] end);
    end if;
  end loop;
  foreach name in array managed loop
    if not exists (select from pg_dist_partition where logicalrelid = name::regclass) then
      perform citus_add_local_table_to_metadata(name::regclass);
    end if;
  end loop;
end $$;

commit;
