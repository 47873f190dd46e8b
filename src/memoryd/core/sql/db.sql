-- name: read_only
select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean;

-- name: set_tenant
select set_config('memoryd.tenant', $1, true);

-- name: name_tenant
-- The same, of a name in bytes.
select set_config('memoryd.tenant', convert_from($1::bytea, 'UTF8'), true);
