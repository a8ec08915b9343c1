/* /api/stats/visitors */
select *, count(*) over () as total_rows
from (
  with seen as (
    select visitor_id, max(timestamp) as seen
    from events as e
    where site_id = 1
      and timestamp >= timestamp '2026-10-24 22:00:00.000'
      and timestamp < timestamp '2026-10-26 12:00:00.000'
      and ((country is not null and country in ('US')))
    group by visitor_id
  ), known as (
    select visitor_id as known_id, arg_max(identified_id, (said, identified_id)) as person
    from (
      select visitor_id, identified_id, max(timestamp) as said
      from events
      where site_id = 1
        and timestamp < timestamp '2026-10-26 12:00:00.000'
        and identified_id is not null
      group by visitor_id, identified_id
    ) i
    group by visitor_id
  )
  select visitor_id as id, null as person, seen as last_seen
  from seen
  where visitor_id not in (
    select known_id
    from known
  )
  union all
  select arg_max(visitor_id, (seen, visitor_id)) as id, person, max(seen) as last_seen
  from seen
  join known on known_id = visitor_id
  group by person
) r
order by last_seen desc nulls last, id nulls last
limit 10 offset 0;

/* /api/stats/visitors */
select person, case when person is null then visitor_id end as visitor, min(timestamp) as first_seen,
    arg_max(traits, (timestamp, traits)) filter (where traits is not null) as traits
from (
  select *, null as person
  from (
    select visitor_id, timestamp, traits
    from events
    where site_id = 1
      and timestamp < timestamp '2026-10-26 12:00:00.000'
      and true
  ) as a
  where visitor_id in (2)
) p
group by 1, 2;

/* /api/stats/visitors */
select person, case when person is null then visitor_id end as visitor, count(*) filter (where kind = 'pageview') as pageviews,
    arg_max(country, (timestamp, country)) filter (where country is not null) as country, arg_max(browser, (timestamp, browser)) filter (where browser is not null) as browser
from (
  select *, null as person
  from (
    select visitor_id, timestamp, kind, country, browser
    from events as e
    where site_id = 1
      and timestamp >= timestamp '2026-10-24 22:00:00.000'
      and timestamp < timestamp '2026-10-26 12:00:00.000'
      and ((country is not null and country in ('US')))
  ) as a
  where visitor_id in (2)
) p
group by 1, 2;

/* /api/stats/visitors */
select person, case when person is null then visitor_id end as visitor, count(*) as sessions
from (
  select *, null as person
  from (
    select session_id, visitor_id
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
  ) as a
  where visitor_id in (2)
) p
where session_id in (
  select session_id
  from events as e
  where site_id = 1
    and session_start >= timestamp '2026-10-24 22:00:00.000'
    and session_start < timestamp '2026-10-26 12:00:00.000'
    and ((country is not null and country in ('US')))
    and session_id in (
      select session_id
      from (
        select *, null as person
        from (
          select session_id, visitor_id
          from (
            select session_id, visitor_id, started, ended, ms, views, interactions, bounced,
                exit_page, entry_page
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
        ) as a
        where visitor_id in (2)
      ) o
    )
)
group by 1, 2;
