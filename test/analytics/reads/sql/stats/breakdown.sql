/* /api/stats/breakdown */
select *, count(*) over () as total_rows
from (
  select *
  from (
    with hit as materialized (
      select country as value, visitor_id, case when kind = 'pageview' then 1 else 0 end as is_view,
          case when kind in ('custom', 'outbound', 'file_download', 'form') then 1 else 0 end as is_interaction
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
              and not (ended < timestamp '2026-10-26 12:00:00.000' and visitor_ids = 1 and not traits_vary and true)
          )
      ) as e
      where ((country is not null and country in ('US')))
    )
    select value, visitors as visitors, sessions as sessions, pageviews as pageviews, bounces * 1.0 / nullif(entries, 0) as bounce,
        ms * 1.0 / nullif(sessions, 0) / 1000 as duration, views * 1.0 / nullif(sessions, 0) as views_per_session,
        events as events
    from (
      select value, sum(visitors) as visitors, sum(pageviews) as pageviews, sum(events) as events,
          sum(sessions) as sessions, sum(ms) as ms, sum(views) as views, sum(entries) as entries,
          sum(bounces) as bounces
      from (
        select country as value, sum(case when (ended < timestamp '2026-10-26 12:00:00.000' and visitor_ids = 1 and not traits_vary and true) then case when prior_country >= timestamp '2026-10-24 22:00:00.000' and true then 0 else 1 end else 0 end) as visitors,
            sum(case when (ended < timestamp '2026-10-26 12:00:00.000' and visitor_ids = 1 and not traits_vary and true) then views else 0 end) as pageviews,
            sum(case when (ended < timestamp '2026-10-26 12:00:00.000' and visitor_ids = 1 and not traits_vary and true) then interactions else 0 end) as events,
            count(*) as sessions, sum(ms) as ms, sum(views) as views, count(*) as entries, sum(bounced) as bounces
        from (
          /* aggregated sessions */
          select *, ms / 1000.0 as duration
          from sessions
          where site_id = 1
            and started >= timestamp '2026-10-24 22:00:00.000'
            and started < timestamp '2026-10-25 12:00:00.000'
        ) as s
        where ((country is not null and country in ('US')))
          and not traits_vary
        group by value
        union all
        select value as value, 0 as visitors, 0 as pageviews, 0 as events, count(*) as sessions,
            sum(ms) as ms, sum(views) as views, count(*) as entries, sum(bounced) as bounces
        from (
          select session_id, country as value
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
        union all
        select value as value, count(distinct visitor_id) as visitors, sum(is_view) as pageviews,
            sum(is_interaction) as events, 0 as sessions, 0 as ms, 0 as views, 0 as entries,
            0 as bounces
        from hit
        group by value
        union all
        select value as value, -sum(case when (ended < timestamp '2026-10-26 12:00:00.000' and visitor_ids = 1 and not traits_vary and true) then case when prior_country >= timestamp '2026-10-24 22:00:00.000' and true then 0 else 1 end else 0 end) as visitors,
            0 as pageviews, 0 as events, 0 as sessions, 0 as ms, 0 as views, 0 as entries, 0 as bounces
        from (
          select *, country as value
          from (
            /* aggregated sessions */
            select *, ms / 1000.0 as duration
            from sessions
            where site_id = 1
              and started >= timestamp '2026-10-24 22:00:00.000'
              and started < timestamp '2026-10-25 12:00:00.000'
          ) as a
          where visitor_id in (
            select unnest(list(distinct visitor_id))
            from hit
          )
        ) s
        join (
          select distinct visitor_id as hit_visitor, value as hit_value
          from hit
        ) h on h.hit_visitor = s.visitor_id
          and h.hit_value is not distinct from s.value
        where ((country is not null and country in ('US')))
        group by value
      ) b
      group by value
    ) p
  ) v
) r
order by visitors desc nulls last, pageviews desc nulls last, sessions desc nulls last, value nulls last
limit 10 offset 0;
