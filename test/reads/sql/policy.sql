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
