-- name: read_only
select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean;

-- name: set_tenant
select set_config('memoryd.tenant', $1, true);

-- name: name_tenant
-- The same, of a name in bytes. Plans are made once a connection: one for each set of values costs
-- the larger queries more than it can save, since every one has its index.
select set_config('memoryd.tenant', convert_from($1::bytea, 'UTF8'), true),
       set_config('plan_cache_mode', 'force_generic_plan', true);
