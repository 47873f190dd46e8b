-- The keys that seal what is `high`, and what tells one master key from another.

-- name: keys
-- Of the tenant that is set: whoever opens a row need not know whose it is.
select tenant_id, key_id, since, wrapped from tenant_keys
where tenant_id = current_tenant()
order by number;

-- name: add_key
insert into tenant_keys (tenant_id, number, key_id, since, wrapped, created_at)
select $1, coalesce(max(number), 0) + 1, $2, $3, $4, $5 from tenant_keys where tenant_id = $1;

-- name: share
-- Making a key and wrapping all of them anew exclude each other.
select pg_advisory_xact_lock_shared(hashtextextended('memoryd.master', 0));

-- name: exclude
select pg_advisory_xact_lock(hashtextextended('memoryd.master', 0));

-- name: check
select check_value from master_check;

-- name: add_check
-- Two tenants may be the first at once: the second waits, and then finds the other's.
insert into master_check (check_value) values ($1)
on conflict do nothing;

-- name: change_check
update master_check set check_value = $1;

-- name: rewrap
update tenant_keys set wrapped = $3
where tenant_id = $1 and key_id = $2;
