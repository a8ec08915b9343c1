/* /api/stats/realtime */
select coalesce(a.value, b.value) as value, people, agents
from (
  select 0 as value, count(distinct visitor_id) as people
  from events as e
  where site_id = 1
    and timestamp >= timestamp '2026-10-26 11:55:00.000'
    and timestamp < timestamp '2026-10-26 12:00:00.000'
    and ((country is not null and country in ('US')))
  group by value
) a
full outer join (
  select 0 as value, count(distinct agent_id) as agents
  from agent_events
  where site_id = 1
    and timestamp >= timestamp '2026-10-26 11:55:00.000'
    and timestamp < timestamp '2026-10-26 12:00:00.000'
    and ((country is not null and country in ('US')))
  group by value
) b on a.value = b.value;

/* /api/stats/realtime */
select *, count(*) over () as total_rows
from (
  select value as pathname, people, agents
  from (
    select coalesce(a.value, b.value) as value, people, agents
    from (
      select value, count(*) as people
      from (
        select arg_max(pathname, (timestamp, pathname)) as value
        from events as e
        where site_id = 1
          and timestamp >= timestamp '2026-10-26 11:55:00.000'
          and timestamp < timestamp '2026-10-26 12:00:00.000'
          and ((country is not null and country in ('US')))
        group by visitor_id
      ) o
      group by value
    ) a
    full outer join (
      select pathname as value, count(distinct agent_id) as agents
      from agent_events
      where site_id = 1
        and timestamp >= timestamp '2026-10-26 11:55:00.000'
        and timestamp < timestamp '2026-10-26 12:00:00.000'
        and ((country is not null and country in ('US')))
      group by value
    ) b on a.value = b.value
  ) p
) r
order by people desc nulls last, agents desc nulls last, pathname nulls last
limit 50 offset 0;

/* /api/stats/realtime */
select coalesce(a.value, b.value) as value, people, agents
from (
  select (epoch_ms(timestamp) - 1793015700000) - (epoch_ms(timestamp) - 1793015700000) % 60000 as value,
      count(distinct visitor_id) as people
  from events as e
  where site_id = 1
    and timestamp >= timestamp '2026-10-26 11:55:00.000'
    and timestamp < timestamp '2026-10-26 12:00:00.000'
    and ((country is not null and country in ('US')))
  group by value
) a
full outer join (
  select (epoch_ms(timestamp) - 1793015700000) - (epoch_ms(timestamp) - 1793015700000) % 60000 as value,
      count(distinct agent_id) as agents
  from agent_events
  where site_id = 1
    and timestamp >= timestamp '2026-10-26 11:55:00.000'
    and timestamp < timestamp '2026-10-26 12:00:00.000'
    and ((country is not null and country in ('US')))
  group by value
) b on a.value = b.value;
