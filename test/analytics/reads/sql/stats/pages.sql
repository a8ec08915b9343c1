/* /api/stats/pages */
select *, count(*) over () as total_rows
from (
  select value as pathname, visitors, sessions, pageviews, entries, exits, exit_rate, bounce,
      time_on_page, scroll_depth
  from (
    with hit as materialized (
      select pathname, visitor_id, kind
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
    ), page as materialized (
      select p.*, whole
      from (
        /* aggregated sessions */
        select *, ms / 1000.0 as duration
        from session_pages
        where site_id = 1
          and started >= timestamp '2026-10-24 22:00:00.000'
          and started < timestamp '2026-10-25 12:00:00.000'
      ) p
      join (
        select session_id, (ended < timestamp '2026-10-26 12:00:00.000' and visitor_ids = 1 and not traits_vary and 0 = 0) as whole
        from (
          /* aggregated sessions */
          select *, ms / 1000.0 as duration
          from sessions
          where site_id = 1
            and started >= timestamp '2026-10-24 22:00:00.000'
            and started < timestamp '2026-10-25 12:00:00.000'
            and not traits_vary
        ) a
        where ((country is not null and country in ('US')))
      ) s on s.session_id = p.session_id
    )
    select value, visitors, sessions, pageviews, entries, exits, exit_rate, bounce, time_on_page,
        scroll_depth
    from (
      select value, sessions as sessions, pageviews as pageviews, entries as entries, exits as exits,
          case when pageviews > 0 then least(1.0, exits * 1.0 / pageviews) end as exit_rate,
          bounces * 1.0 / nullif(entries, 0) as bounce, engaged_ms * 1.0 / nullif(engaged, 0) / 1000 as time_on_page,
          scrolled * 1.0 / nullif(scrolls, 0) as scroll_depth
      from (
        select value, sum(pageviews) as pageviews, sum(sessions) as sessions, sum(entries) as entries,
            sum(exits) as exits, sum(bounces) as bounces, sum(engaged_ms) as engaged_ms, sum(engaged) as engaged,
            sum(scrolled) as scrolled, sum(scrolls) as scrolls
        from (
          select pathname as value, sum(case when whole then page_views else 0 end) as pageviews,
              count(*) as sessions, sum(entered) as entries, sum(exited) as exits, sum(bounced * entered) as bounces,
              sum(engaged_ms) as engaged_ms, count(engaged_ms) as engaged, sum(scroll) as scrolled,
              count(scroll) as scrolls
          from page
          group by pathname
          union all
          select pathname as value, 0 as pageviews, count(*) as sessions, sum(entered) as entries,
              sum(exited) as exits, sum(bounced * entered) as bounces, sum(engaged_ms) as engaged_ms,
              count(engaged_ms) as engaged, sum(scroll) as scrolled, count(scroll) as scrolls
          from (
            select pathname, ms, views, bounced, engaged_ms, scroll, case when entry_page = pathname then 1 else 0 end as entered,
                case when exit_page = pathname then 1 else 0 end as exited
            from (
              select session_id, pathname, sum(engaged_ms) as engaged_ms, max(scroll) as scroll
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
              group by session_id, pathname
            ) p
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
            ) s on s.session_id = p.session_id
          ) m
          group by pathname
          union all
          select pathname as value, count(*) filter (where kind = 'pageview') as pageviews,
              0 as sessions, 0 as entries, 0 as exits, 0 as bounces, 0 as engaged_ms, 0 as engaged,
              0 as scrolled, 0 as scrolls
          from hit
          group by pathname
        ) b
        group by value
      ) p
    ) m
    left join (
      select pathname as value, count(distinct visitor_id) as visitors
      from (
        select pathname, visitor_id
        from page
        where whole
        union all
        select pathname, visitor_id
        from hit
      ) b
      group by pathname
    ) v using (value)
  ) p
) r
order by visitors desc nulls last, pageviews desc nulls last, sessions desc nulls last, pathname nulls last
limit 10 offset 0;
