-- name: create
insert into keys (tenant_id, key_id, key_hash, role, user_id, agent_id, channel, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8)
returning key_id, tenant_id, role, user_id, agent_id, channel, created_at, revoked_at;

-- name: list
select key_id, tenant_id, role, user_id, agent_id, channel, created_at, revoked_at
from keys
where tenant_id = $1
order by created_at, key_id;

-- name: revoke
update keys set revoked_at = coalesce(revoked_at, $3)
where tenant_id = $1 and key_id = $2
returning key_id, tenant_id, role, user_id, agent_id, channel, created_at, revoked_at;

-- name: show
-- Naming the hash of a key opens the one row that has it, whatever the tenant.
select set_config('memoryd.key_hash', $1, true);

-- name: find
select tenant_id, role, user_id, agent_id, channel, key_id
from keys
where key_hash = $1 and revoked_at is null;

-- name: any_active
select exists (select from keys where revoked_at is null);
