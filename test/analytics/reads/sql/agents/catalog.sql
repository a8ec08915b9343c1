/* /api/agents/catalog */
select agent_id, count(*) as fetches, max(timestamp) as last_seen
from agent_events
where site_id = 1
  and timestamp >= timestamp '2026-10-24 22:00:00.000'
  and timestamp < timestamp '2026-10-26 12:00:00.000'
  and ((country is not null and country in ('US')))
group by agent_id;
