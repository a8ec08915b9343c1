/* /api/agents/timeseries */
select *, count(*) over () as total_rows
from (
  select agent_id, max(operator) as operator, sum(fetches) as fetches, sum(spoofed) as spoofed
  from (
    select agent_id as agent_id, operator as operator, count(*) as fetches, count(*) filter (where verification = 'spoofed') as spoofed
    from agent_events as e
    where site_id = 1
      and timestamp >= timestamp '2026-10-24 22:00:00.000'
      and timestamp < timestamp '2026-10-26 12:00:00.000'
      and true
      and true
      and ((country is not null and country in ('US')))
      and true
    group by agent_id, operator
  ) d
  where agent_id <> 'other'
  group by agent_id
) r
order by fetches desc nulls last, agent_id nulls last
limit 10 offset 0;

/* /api/agents/timeseries */
select sum(fetches) as fetches, sum(spoofed) as spoofed
from (
  select agent_id as agent_id, count(*) as fetches, count(*) filter (where verification = 'spoofed') as spoofed
  from agent_events as e
  where site_id = 1
    and timestamp >= timestamp '2026-10-24 22:00:00.000'
    and timestamp < timestamp '2026-10-26 12:00:00.000'
    and true
    and true
    and ((country is not null and country in ('US')))
    and true
  group by agent_id
) d
where not (agent_id in ('gptbot'));

/* /api/agents/timeseries */
select case when (agent_id in ('gptbot')) then agent_id else 'other' end as series, bucket,
    sum(n) as value
from (
  select agent_id, (((epoch_ms(timestamp) + (case when timestamp < timestamp '2026-10-25 01:00:00.000' then 7200000 else 3600000 end)) // 86400000) * 86400000) as bucket,
      count(*) as n
  from agent_events
  where site_id = 1
    and timestamp >= timestamp '2026-10-24 22:00:00.000'
    and timestamp < timestamp '2026-10-26 12:00:00.000'
    and ((country is not null and country in ('US')))
  group by agent_id, bucket
) a
group by series, bucket;
