/* /api/stats/sessions/{id} */
select min(session_start) as first, max(session_start) as last
from events
where site_id = 1
  and session_start >= timestamp '1970-01-01 00:00:00.000'
  and session_start < timestamp '2200-01-01 00:00:00.000'
  and session_id = 1;

/* /api/stats/sessions/{id} */
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
        and started >= timestamp '2026-10-25 00:30:00.000'
        and started < timestamp '2026-10-25 00:30:00.001'
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
        and session_start >= timestamp '2026-10-25 00:30:00.000'
        and session_start < timestamp '2026-10-25 00:30:00.001'
        and session_start >= timestamp '2026-10-25 12:00:00.000'
    ) e
    group by session_id
  ) w
  where session_id in (1, 1)
) s
join (
  select session_id, min(channel) as channel, min(source) as source, min(utm_campaign) as utm_campaign,
      arg_min(country, (timestamp, country)) as country, arg_min(browser, (timestamp, browser)) as browser,
      arg_min(os, (timestamp, os)) as os, arg_min(device_type, (timestamp, device_type)) as device_type,
      arg_min(screen_class, (timestamp, screen_class)) as screen_class, arg_min(language, (timestamp, language)) as language,
      arg_max(identified_id, (timestamp, identified_id)) as identified_id
  from events
  where site_id = 1
    and session_start >= timestamp '2026-10-25 00:30:00.000'
    and session_start < timestamp '2026-10-25 00:30:00.001'
    and session_id in (1, 1)
  group by session_id
) r on r.session_id = s.session_id;

/* /api/stats/sessions/{id} */
select timestamp, kind, coalesce(event_name, try(json_extract_string(error, '/message'))) as name,
    hostname, pathname, props, engaged_ms, scroll
from events
where site_id = 1
  and session_start >= timestamp '2026-10-25 00:30:00.000'
  and session_start < timestamp '2026-10-25 00:30:00.001'
  and session_id = 1
order by timestamp, case when kind = 'pageview' then 0 else 1 end, pathname, kind, name, props,
    engaged_ms, scroll
limit 1001;
