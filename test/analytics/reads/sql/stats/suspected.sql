/* /api/stats/suspected */
select coalesce(by_hits.value, by_sessions.value) as value, visitors, sessions, pageviews, bounce,
    duration, views_per_session, events
from (
  select value, count(distinct visitor_id) as visitors, sum(views) as pageviews, sum(interactions) as events
  from (
    select 0 as value, visitor_id, views, interactions
    from (
      /* aggregated sessions */
      select *, ms / 1000.0 as duration
      from sessions
      where site_id = 1
        and started >= timestamp '2026-10-24 22:00:00.000'
        and started < timestamp '2026-10-25 12:00:00.000'
    ) as s
    where (ended < timestamp '2026-10-26 12:00:00.000' and visitor_ids = 1 and not traits_vary and 0 = 0)
      and ((country is not null and country in ('US')))
    union all
    select 0 as value, visitor_id, case when kind = 'pageview' then 1 else 0 end as views, case when kind in ('custom', 'outbound', 'file_download', 'form') then 1 else 0 end as interactions
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
            and not (ended < timestamp '2026-10-26 12:00:00.000' and visitor_ids = 1 and not traits_vary and 0 = 0)
        )
    ) as e
    where ((country is not null and country in ('US')))
  ) b
  group by value
) by_hits
full outer join (
  select value, sum(session_count) as sessions, sum(bounces) / sum(session_count) as bounce,
      sum(total_ms) / sum(session_count) / 1000 as duration, sum(total_views) * 1.0 / sum(session_count) as views_per_session
  from (
    select 0 as value, count(*) as session_count, sum(bounced) as bounces, sum(ms) * 1.0 as total_ms,
        sum(views) as total_views
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
    group by value
    union all
    select value, count(*) as session_count, sum(bounced) as bounces, sum(ms) * 1.0 as total_ms,
        sum(views) as total_views
    from (
      select session_id, 0 as value
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
    join (
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
      ) e
      group by session_id
    ) s on s.session_id = m.session_id
    group by value
  ) b
  group by value
) by_sessions on by_hits.value is not distinct from by_sessions.value;

/* /api/stats/suspected */
select coalesce(by_hits.value, by_sessions.value) as value, visitors, sessions, pageviews, bounce,
    duration, views_per_session, events
from (
  select 0 as value, count(distinct visitor_id) as visitors, count(*) filter (where kind = 'pageview') as pageviews,
      count(*) filter (where kind in ('custom', 'outbound', 'file_download', 'form')) as events
  from (
    select *
    from events
    where site_id = 1
      and timestamp >= timestamp '2026-10-24 22:00:00.000'
      and timestamp < timestamp '2026-10-26 12:00:00.000'
  ) as e
  where ((country is not null and country in ('US')) and (coalesce(suspected, false) is not null and coalesce(suspected, false) in (true)))
  group by value
) by_hits
full outer join (
  select value, count(*) as sessions, avg(case when entered = 1 then bounced end) as bounce,
      avg(ms) / 1000 as duration, avg(views) as views_per_session
  from (
    select session_id, 0 as value, max(case when true and true then 1 else 0 end) as entered
    from (
      select *
      from events
      where site_id = 1
        and session_start >= timestamp '2026-10-24 22:00:00.000'
        and session_start < timestamp '2026-10-26 12:00:00.000'
    ) as e
    where ((country is not null and country in ('US')) and (coalesce(suspected, false) is not null and coalesce(suspected, false) in (true)))
    group by session_id, value
  ) m
  join (
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
  ) s on s.session_id = m.session_id
  group by value
) by_sessions on by_hits.value is not distinct from by_sessions.value;

/* /api/stats/suspected */
select *
from (
  select suspected_by as value, count(*) as pageviews, count(*) filter (where coalesce(suspected, false)) as suspected_pageviews
  from events as e
  where site_id = 1
    and timestamp >= timestamp '2026-10-24 22:00:00.000'
    and timestamp < timestamp '2026-10-26 12:00:00.000'
    and ((country is not null and country in ('US')))
    and kind = 'pageview'
  group by value
) s
where value is not null;

/* /api/stats/suspected */
select *, count(*) over () as total_rows
from (
  select *
  from (
    select pathname as value, count(*) as pageviews, count(*) filter (where coalesce(suspected, false)) as suspected_pageviews
    from events as e
    where site_id = 1
      and timestamp >= timestamp '2026-10-24 22:00:00.000'
      and timestamp < timestamp '2026-10-26 12:00:00.000'
      and ((country is not null and country in ('US')))
      and kind = 'pageview'
    group by value
  ) v
  where suspected_pageviews > 0
) r
order by suspected_pageviews desc nulls last, pageviews desc nulls last, value nulls last
limit 10 offset 0;

/* /api/stats/suspected: statement 4 with source instead of pathname */

/* /api/stats/suspected: statement 4 with country instead of pathname */

/* /api/stats/suspected */
select (((epoch_ms(timestamp) + (case when timestamp < timestamp '2026-10-25 01:00:00.000' then 7200000 else 3600000 end)) // 86400000) * 86400000) as value,
    count(*) as pageviews, count(*) filter (where coalesce(suspected, false)) as suspected_pageviews
from events as e
where site_id = 1
  and timestamp >= timestamp '2026-10-24 22:00:00.000'
  and timestamp < timestamp '2026-10-26 12:00:00.000'
  and ((country is not null and country in ('US')))
  and kind = 'pageview'
group by value;
