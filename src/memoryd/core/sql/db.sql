-- name: set_tenant
select set_config('memoryd.tenant', $1, true);
