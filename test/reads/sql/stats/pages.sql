/* /api/stats/pages */
select *, count(*) over () as total_rows
from (
  select coalesce(h.value, v.value) as pathname, visitors, sessions, pageviews, entries, exits,
      case when pageviews > 0 then least(1.0, coalesce(exits, 0) * 1.0 / pageviews) end as exit_rate,
      bounce, time_on_page, scroll_depth
  from (
    select pathname as value, count(distinct visitor_id) as visitors, count(*) filter (where kind = 'pageview') as pageviews,
        count(*) filter (where kind in ('custom', 'outbound', 'file_download', 'form')) as events
    from (
      select *
      from events
      where site_id = 1
        and timestamp >= timestamp '2026-10-24 22:00:00.000'
        and timestamp < timestamp '2026-10-26 12:00:00.000'
    ) as e
    where ((country is not null and country in ('US')))
    group by value
  ) h
  full outer join (
    select value, count(*) as sessions, sum(entered) as entries, count(*) filter (where exit_page = value) as exits,
        avg(case when entered = 1 then bounced end) as bounce, avg(engaged_ms) / 1000 as time_on_page,
        avg(scroll) as scroll_depth
    from (
      select session_id, pathname as value, max(case when entry_page is not null and entry_page = pathname and true then 1 else 0 end) as entered,
          sum(engaged_ms) as engaged_ms, max(scroll) as scroll
      from (
        select *
        from events
        where site_id = 1
          and session_start >= timestamp '2026-10-24 22:00:00.000'
          and session_start < timestamp '2026-10-26 12:00:00.000'
      ) as e
      where ((country is not null and country in ('US')))
      group by session_id, value
    ) m
    join (
      select session_id, visitor_id, started, ended, ms, views, acts, bounced, entry_page, exit_page
      from (
        select *, ms / 1000.0 as duration
        from sessions
        where site_id = 1
          and started >= timestamp '2026-10-24 22:00:00.000'
          and started < timestamp '2026-10-25 12:00:00.000'
      ) s
      union all
      select session_id, min(visitor_id) as visitor_id, min(session_start) as started, max(timestamp) as ended,
          epoch_ms(max(timestamp)) - epoch_ms(min(timestamp)) as ms, count(*) filter (where kind = 'pageview') as views,
          count(*) filter (where kind in ('custom', 'outbound', 'file_download', 'form')) as acts,
          case when count(*) filter (where kind = 'pageview') = 1 and count(*) filter (where kind in ('custom', 'outbound', 'file_download', 'form') and event_name is distinct from 'flag_exposure') = 0 and coalesce(sum(engaged_ms), 0) < 10000 then 1.0 else 0.0 end as bounced,
          min(entry_page) as entry_page, coalesce(arg_max(pathname, (timestamp, pathname)) filter (where kind = 'pageview'), arg_max(pathname, (timestamp, pathname)) filter (where kind in ('custom', 'outbound', 'file_download', 'form'))) as exit_page
      from (
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
  ) v on h.value = v.value
) r
order by visitors desc nulls last, pageviews desc nulls last, sessions desc nulls last, pathname nulls last
limit 10 offset 0;
