/* /api/stats/timeseries */
select value as bucket, visitors as value
from (
  select value, count(distinct visitor_id) as visitors, sum(views) as pageviews, sum(interactions) as events
  from (
    select (((epoch_ms(started) + (case when started < timestamp '2026-10-25 01:00:00.000' then 7200000 else 3600000 end)) // 86400000) * 86400000) as value,
        visitor_id, views, interactions
    from (
      /* aggregated sessions */
      select *, ms / 1000.0 as duration
      from sessions
      where site_id = 1
        and started >= timestamp '2026-10-24 22:00:00.000'
        and started < timestamp '2026-10-25 12:00:00.000'
    ) as s
    where (ended < timestamp '2026-10-26 12:00:00.000' and visitor_ids = 1 and not traits_vary and (((epoch_ms(started) + (case when started < timestamp '2026-10-25 01:00:00.000' then 7200000 else 3600000 end)) // 86400000) * 86400000) = (((epoch_ms(ended) + (case when ended < timestamp '2026-10-25 01:00:00.000' then 7200000 else 3600000 end)) // 86400000) * 86400000))
      and ((country is not null and country in ('US')))
    union all
    select (((epoch_ms(timestamp) + (case when timestamp < timestamp '2026-10-25 01:00:00.000' then 7200000 else 3600000 end)) // 86400000) * 86400000) as value,
        visitor_id, case when kind = 'pageview' then 1 else 0 end as views, case when kind in ('custom', 'outbound', 'file_download', 'form') then 1 else 0 end as interactions
    from (
      /* hits that no aggregate replaces */
      select *
      from events
      where site_id = 1
        and timestamp >= timestamp '2026-10-24 22:00:00.000'
        and timestamp < timestamp '2026-10-26 12:00:00.000'
        and session_start < timestamp '2026-10-24 22:00:00.000'
      union all
      select *
      from events
      where site_id = 1
        and timestamp >= timestamp '2026-10-24 22:00:00.000'
        and timestamp < timestamp '2026-10-26 12:00:00.000'
        and session_start >= timestamp '2026-10-25 12:00:00.000'
      union all
      select *
      from events
      where site_id = 1
        and timestamp >= timestamp '2026-10-24 22:00:00.000'
        and timestamp < timestamp '2026-10-26 12:00:00.000'
        and session_start >= timestamp '2026-10-24 22:00:00.000'
        and session_start < timestamp '2026-10-25 12:00:00.000'
        and session_id in (
          select session_id
          from sessions
          where site_id = 1
            and started >= timestamp '2026-10-24 22:00:00.000'
            and started < timestamp '2026-10-25 12:00:00.000'
            and not (ended < timestamp '2026-10-26 12:00:00.000' and visitor_ids = 1 and not traits_vary and (((epoch_ms(started) + (case when started < timestamp '2026-10-25 01:00:00.000' then 7200000 else 3600000 end)) // 86400000) * 86400000) = (((epoch_ms(ended) + (case when ended < timestamp '2026-10-25 01:00:00.000' then 7200000 else 3600000 end)) // 86400000) * 86400000))
        )
    ) as e
    where ((country is not null and country in ('US')))
  ) b
  group by value
) b;
