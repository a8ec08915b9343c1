/* /api/stats/sessions */
select *, count(*) over () as total_rows
from (
  select s.session_id, started
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
  join (
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
  ) m on m.session_id = s.session_id
) r
order by started desc nulls last, session_id nulls last
limit 10 offset 0;

/* /api/stats/sessions */
select s.session_id as id, visitor_id, started as started_at, ended as ended_at, ms / 1000 as duration,
    views as pageviews, interactions as events, entry_page, exit_page, channel, source, utm_campaign,
    country, browser, os, device_type, screen_class, language, identified_id
from (
  select *
  from (
    select session_id, visitor_id, started, ended, ms, views, interactions, bounced, exit_page,
        entry_page
    from (
      /* aggregated sessions */
      select *, ms / 1000.0 as duration
      from sessions
      where site_id = 1
        and started >= timestamp '2026-10-25 01:30:00.000'
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
        and session_start >= timestamp '2026-10-25 01:30:00.000'
        and session_start < timestamp '2026-10-26 08:00:00.001'
        and session_start >= timestamp '2026-10-25 12:00:00.000'
    ) e
    group by session_id
  ) w
  where session_id in (3, 2)
) s
join (
  select session_id, min(channel) as channel, min(source) as source, min(utm_campaign) as utm_campaign,
      arg_min(country, (timestamp, country)) as country, arg_min(browser, (timestamp, browser)) as browser,
      arg_min(os, (timestamp, os)) as os, arg_min(device_type, (timestamp, device_type)) as device_type,
      arg_min(screen_class, (timestamp, screen_class)) as screen_class, arg_min(language, (timestamp, language)) as language,
      arg_max(identified_id, (timestamp, identified_id)) as identified_id
  from events
  where site_id = 1
    and session_start >= timestamp '2026-10-25 01:30:00.000'
    and session_start < timestamp '2026-10-26 08:00:00.001'
    and session_id in (3, 2)
  group by session_id
) r on r.session_id = s.session_id;
