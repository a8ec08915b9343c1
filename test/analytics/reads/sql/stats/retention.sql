/* /api/stats/retention */
select cohort, period, count(*) as visitors
from (
  select n.visitor_id, cohort
  from (
    select visitor_id, (((epoch_ms(first) + (case when first < timestamp '2026-10-25 01:00:00.000' then 7200000 else 3600000 end)) // 86400000) * 86400000) as cohort
    from (
      select visitor_id, min(started) as first
      from (
        select session_id, visitor_id, started, ended, ms, views, interactions, bounced, exit_page,
            entry_page
        from (
          /* aggregated sessions */
          select *, ms / 1000.0 as duration
          from sessions
          where site_id = 1
            and started >= timestamp '1970-01-01 00:00:00.000'
            and started < timestamp '2026-10-25 12:00:00.000'
        ) s
        union all
        select session_id, coalesce(min(visitor_id) filter (where timestamp = session_start), min(visitor_id)) as visitor_id,
            min(session_start) as started, max(timestamp) as ended, epoch_ms(max(timestamp)) - epoch_ms(min(timestamp)) as ms,
            count(*) filter (where kind = 'pageview') as views, count(*) filter (where kind in ('custom', 'outbound', 'file_download', 'form')) as interactions,
            case when count(*) filter (where kind = 'pageview') = 1 and count(*) filter (where kind in ('custom', 'outbound', 'file_download', 'form') and event_name is distinct from 'flag_exposure') = 0 and coalesce(sum(engaged_ms), 0) < 10000 then 1.0 else 0.0 end as bounced,
            coalesce(arg_max(pathname, (timestamp, pathname)) filter (where kind = 'pageview'), arg_max(pathname, (timestamp, pathname)) filter (where kind in ('custom', 'outbound', 'file_download', 'form'))) as exit_page,
            min(entry_page) as entry_page
        from (
          /* hits that no aggregate replaces */
          select *
          from events
          where site_id = 1
            and session_start >= timestamp '1970-01-01 00:00:00.000'
            and session_start < timestamp '2026-10-26 12:00:00.000'
            and session_start >= timestamp '2026-10-25 12:00:00.000'
        ) e
        group by session_id
      ) s
      group by visitor_id
    ) f
    where first >= timestamp '2026-10-24 22:00:00.000'
  ) n
  join (
    select visitor_id, (((epoch_ms(started) + (case when started < timestamp '2026-10-25 01:00:00.000' then 7200000 else 3600000 end)) // 86400000) * 86400000) as period
    from (
      select session_id, visitor_id, started, ended, ms, views, interactions, bounced, exit_page,
          entry_page
      from (
        /* aggregated sessions */
        select *, ms / 1000.0 as duration
        from sessions
        where site_id = 1
          and started >= timestamp '2026-10-24 22:00:00.000'
          and started < timestamp '2026-10-25 12:00:00.000'
      ) s
      union all
      select session_id, coalesce(min(visitor_id) filter (where timestamp = session_start), min(visitor_id)) as visitor_id,
          min(session_start) as started, max(timestamp) as ended, epoch_ms(max(timestamp)) - epoch_ms(min(timestamp)) as ms,
          count(*) filter (where kind = 'pageview') as views, count(*) filter (where kind in ('custom', 'outbound', 'file_download', 'form')) as interactions,
          case when count(*) filter (where kind = 'pageview') = 1 and count(*) filter (where kind in ('custom', 'outbound', 'file_download', 'form') and event_name is distinct from 'flag_exposure') = 0 and coalesce(sum(engaged_ms), 0) < 10000 then 1.0 else 0.0 end as bounced,
          coalesce(arg_max(pathname, (timestamp, pathname)) filter (where kind = 'pageview'), arg_max(pathname, (timestamp, pathname)) filter (where kind in ('custom', 'outbound', 'file_download', 'form'))) as exit_page,
          min(entry_page) as entry_page
      from (
        /* hits that no aggregate replaces */
        select *
        from events
        where site_id = 1
          and session_start >= timestamp '2026-10-24 22:00:00.000'
          and session_start < timestamp '2026-10-26 12:00:00.000'
          and session_start >= timestamp '2026-10-25 12:00:00.000'
      ) e
      group by session_id
    ) s
    where session_id in (
      select session_id
      from (
        select session_id, 0 as value, 1 as entered
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
        select session_id, 0 as value, max(case when true and true then 1 else 0 end) as entered
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
    )
    group by visitor_id, period
  ) o on o.visitor_id = n.visitor_id
    and o.period = n.cohort
) c
join (
  select visitor_id, (((epoch_ms(started) + (case when started < timestamp '2026-10-25 01:00:00.000' then 7200000 else 3600000 end)) // 86400000) * 86400000) as period
  from (
    select session_id, visitor_id, started, ended, ms, views, interactions, bounced, exit_page,
        entry_page
    from (
      /* aggregated sessions */
      select *, ms / 1000.0 as duration
      from sessions
      where site_id = 1
        and started >= timestamp '2026-10-24 22:00:00.000'
        and started < timestamp '2026-10-25 12:00:00.000'
    ) s
    union all
    select session_id, coalesce(min(visitor_id) filter (where timestamp = session_start), min(visitor_id)) as visitor_id,
        min(session_start) as started, max(timestamp) as ended, epoch_ms(max(timestamp)) - epoch_ms(min(timestamp)) as ms,
        count(*) filter (where kind = 'pageview') as views, count(*) filter (where kind in ('custom', 'outbound', 'file_download', 'form')) as interactions,
        case when count(*) filter (where kind = 'pageview') = 1 and count(*) filter (where kind in ('custom', 'outbound', 'file_download', 'form') and event_name is distinct from 'flag_exposure') = 0 and coalesce(sum(engaged_ms), 0) < 10000 then 1.0 else 0.0 end as bounced,
        coalesce(arg_max(pathname, (timestamp, pathname)) filter (where kind = 'pageview'), arg_max(pathname, (timestamp, pathname)) filter (where kind in ('custom', 'outbound', 'file_download', 'form'))) as exit_page,
        min(entry_page) as entry_page
    from (
      /* hits that no aggregate replaces */
      select *
      from events
      where site_id = 1
        and session_start >= timestamp '2026-10-24 22:00:00.000'
        and session_start < timestamp '2026-10-26 12:00:00.000'
        and session_start >= timestamp '2026-10-25 12:00:00.000'
    ) e
    group by session_id
  ) s
  where session_id in (
    select session_id
    from (
      select session_id, 0 as value, 1 as entered
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
      select session_id, 0 as value, max(case when true and true then 1 else 0 end) as entered
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
  )
  group by visitor_id, period
) a on a.visitor_id = c.visitor_id
group by cohort, period;
