-- name: begin
-- The last second of accesses may be lost with a crash; no request waits for them.
select set_config('memoryd.tenant', $1, true), set_config('synchronous_commit', 'off', true);

-- name: add
insert into audit (tenant_id, access_id, at, key_id, role, method, route, status, channel, user_id,
                   agent_id, items, recorded, ref)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14);

-- name: page
select access_id, at, key_id, role, method, route, status, channel, user_id, agent_id, items,
       recorded, ref
from audit
where tenant_id = $1
  and ($2::timestamptz is null or at >= $2)
  and ($3::timestamptz is null or at < $3)
  and ($4::text is null or key_id = $4)
  and ($5::text is null or route = $5)
  and ($6::text is null or user_id = $6)
  and ($7::text is null or ref = $7)
  and ($8::text is null or access_id < $8)
order by access_id desc limit $9;

-- name: expire
delete from audit where tenant_id = $1 and at < $2;
