/* /api/policy/versions */
select n, agent_id, count(*) as reads, min(timestamp) as first_read, max(timestamp) as last_read
from (
  select agent_id, pathname, status, timestamp
  from agent_events
  where site_id = 1
    and timestamp < timestamp '2026-10-26 12:00:00.000'
    and timestamp >= timestamp '2026-10-20 00:00:00.000'
    and hostname = 'example.com'
    and pathname in ('/robots.txt', '/llms.txt')
    and method = 'GET'
    and verification <> 'spoofed'
    and ((country is not null and country in ('US')))
) e
join (
  select 0 as n, '/robots.txt' as file, timestamp '2026-10-20 00:00:00.000' as since, timestamp '2026-10-26 12:00:00.000' as until,
      200 as low, 400 as high
) v on file = pathname
  and timestamp >= since
  and timestamp < until
  and status >= low
  and status < high
group by n, agent_id
order by first_read, agent_id;
