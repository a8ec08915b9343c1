/* /api/agents/breakdown */
select *, count(*) over () as total_rows
from (
  select *
  from (
    select value, sum(n) as fetches, sum(pages) as pageviews, count(distinct agent_id) as agents,
        sum(case when verification in ('ranges', 'rdns', 'web_bot_auth') then n else 0 end) * 1.0 / nullif(sum(case when verification in ('ranges', 'rdns', 'web_bot_auth', 'spoofed') then n else 0 end), 0) as verified,
        sum(case when verification in ('ranges', 'rdns', 'web_bot_auth') then n else 0 end) as verified_fetches,
        sum(case when verification in ('spoofed') then n else 0 end) as spoofed, sum(case when verification in ('indeterminate') then n else 0 end) as indeterminate,
        sum(case when verification in ('unverifiable') then n else 0 end) as unverifiable, max(last) as last_seen,
        sum(size) as bytes
    from (
      select operator as value, verification, agent_id, count(*) as n, count(*) filter (where is_pageview) as pages,
          max(timestamp) as last, sum(bytes) as size
      from agent_events
      where site_id = 1
        and timestamp >= timestamp '2026-10-24 22:00:00.000'
        and timestamp < timestamp '2026-10-26 12:00:00.000'
        and ((country is not null and country in ('US')))
      group by value, verification, agent_id
    ) f
    group by value
  ) v
) r
order by fetches desc nulls last, value nulls last
limit 10 offset 0;
