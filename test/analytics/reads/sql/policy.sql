/* /api/policy */
select hostname, agent_id, sum(n) as fetches, sum(case when verification <> 'spoofed' then 0 else n end) as spoofed,
    sum(case when disallowed then n else 0 end) as disallowed, min(case when disallowed then rank end) as rank,
    max(last) as last_seen
from (
  select *, case severity when 'breach' then 0 when 'unbound' then 1 when 'unclear' then 2 when 'unverified' then 3 when 'grace' then 4 end as rank
  from (
    select *, case when grace then 'grace' when verified is null or not verified then 'unverified' when false then 'breach' when false then 'unbound' else 'unclear' end as severity
    from (
      select hostname, agent_id, verified, verification, robots_grace is not null
        and robots_grace as grace, robots_allowed is not null
        and not robots_allowed as disallowed, count(*) as n, max(timestamp) as last
      from agent_events
      where site_id = 1
        and timestamp >= timestamp '2026-10-24 22:00:00.000'
        and timestamp < timestamp '2026-10-26 12:00:00.000'
        and ((country is not null and country in ('US')))
        and pathname = '/docs'
      group by hostname, agent_id, verified, verification, grace, disallowed
    ) g
  ) s
) r
group by hostname, agent_id;

/* /api/policy */
select pathname, x_robots_tag, content_usage, count(*) as fetches
from agent_events
where site_id = 1
  and timestamp >= timestamp '2026-10-24 22:00:00.000'
  and timestamp < timestamp '2026-10-26 12:00:00.000'
  and ((country is not null and country in ('US')))
  and hostname = 'example.com'
  and (x_robots_tag is not null or content_usage is not null)
group by pathname, x_robots_tag, content_usage
order by fetches desc, pathname, x_robots_tag nulls last, content_usage nulls last
limit 50;
