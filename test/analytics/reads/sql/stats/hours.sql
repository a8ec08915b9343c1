/* /api/stats/hours */
select value as cell, count(*) as n
from (
  select session_id, case when true then (((epoch_ms(started) + (case when started < timestamp '2026-10-25 01:00:00.000' then 7200000 else 3600000 end) + 259200000) // 3600000) % 168) else -1 end as value,
      1 as entered
  from (
    /* aggregated sessions */
    select *, ms / 1000.0 as duration
    from sessions
    where site_id = 1
      and started >= timestamp '2026-10-24 22:00:00.000'
      and started < timestamp '2026-10-25 12:00:00.000'
      and not traits_vary
  ) as s
  where ((country is not null and country in ('US')))
  union all
  select session_id, case when true then (((epoch_ms(session_start) + (case when session_start < timestamp '2026-10-25 01:00:00.000' then 7200000 else 3600000 end) + 259200000) // 3600000) % 168) else -1 end as value,
      max(case when true and true then 1 else 0 end) as entered
  from (
    /* hits that no aggregate replaces */
    select *
    from events
    where site_id = 1
      and session_start >= timestamp '2026-10-24 22:00:00.000'
      and session_start < timestamp '2026-10-26 12:00:00.000'
      and session_start >= timestamp '2026-10-25 12:00:00.000'
    union all
    select *
    from events
    where site_id = 1
      and session_start >= timestamp '2026-10-24 22:00:00.000'
      and session_start < timestamp '2026-10-26 12:00:00.000'
      and session_start < timestamp '2026-10-25 12:00:00.000'
      and session_id in (
        select session_id
        from sessions
        where site_id = 1
          and started >= timestamp '2026-10-24 22:00:00.000'
          and started < timestamp '2026-10-25 12:00:00.000'
          and traits_vary
      )
  ) as e
  where ((country is not null and country in ('US')))
  group by session_id, value
) m
group by value;
