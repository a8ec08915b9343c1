/* /api/stats/funnel/{id} */
select *, count(*) over () as total_rows
from (
  select step, sessions, case when step > 1 and earlier > 0 then (earlier - sessions) * 1.0 / earlier end as drop_off,
      case when step > 0 and entered > 0 then sessions * 1.0 / entered end as rate
  from (
    select *, lag(sessions) over (order by step) as earlier, max(case when step = 1 then sessions end) over () as entered
    from (
      select 0 as step, (
        select count(*)
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
      ) as sessions
      union all
      select s.step, count(r.id) as sessions
      from (
        select 1 as step
        union all
        select 2 as step
      ) s
      left join (
        with chosen as (
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
        ), level_0 as (
          select session_id as id, min(timestamp) as moment, max(session_start) as started
          from events as e
          where site_id = 1
            and session_start >= timestamp '2026-10-24 22:00:00.000'
            and session_start < timestamp '2026-10-26 12:00:00.000'
            and session_id in (
              select session_id
              from chosen
            )
            and (((kind is not null and kind in ('pageview')) and (pathname is not null and (starts_with(pathname, '/docs')))))
          group by session_id
        ), level_1 as (
          select p.id as id, min(e.timestamp) as moment, max(p.started) as started
          from (
            select *
            from events as r
            where site_id = 1
              and session_start >= timestamp '2026-10-24 22:00:00.000'
              and session_start < timestamp '2026-10-26 12:00:00.000'
              and session_id in (
                select session_id
                from chosen
              )
              and (((kind is not null and kind in ('custom')) and (event_name is not null and event_name in ('signup'))))
          ) e
          join level_0 p on e.session_id = p.id
            and e.timestamp > p.moment
          group by p.id
        )
        select 1 as step, id, started
        from level_0
        union all
        select n.step, w.id, p.started
        from (
          select id, max(case when moment - began_1 <= 3600000 then 2 when moment - began_0 <= 3600000 then 1 else 0 end) as steps
          from (
            select *, case when is_1 = 1 then max(began_0) over (partition by id order by moment range between unbounded preceding and 1 preceding) end as began_1
            from (
              select *, case when is_0 = 1 then moment end as began_0
              from (
                select session_id as id, epoch_ms(timestamp) as moment, case when (((kind is not null and kind in ('pageview')) and (pathname is not null and (starts_with(pathname, '/docs'))))) then 1 else 0 end as is_0,
                    case when (((kind is not null and kind in ('custom')) and (event_name is not null and event_name in ('signup')))) then 1 else 0 end as is_1
                from events as e
                where site_id = 1
                  and session_start >= timestamp '2026-10-24 22:00:00.000'
                  and session_start < timestamp '2026-10-26 12:00:00.000'
                  and session_id in (
                    select session_id
                    from chosen
                  )
                  and ((((kind is not null and kind in ('pageview')) and (pathname is not null and (starts_with(pathname, '/docs'))))) or (((kind is not null and kind in ('custom')) and (event_name is not null and event_name in ('signup')))))
                  and session_id in (
                    select id
                    from level_1
                  )
              ) h
            ) c
          ) c
          group by id
        ) w
        join level_0 p on p.id = w.id
        join (
          select 2 as step
        ) n on n.step <= w.steps
      ) r on r.step = s.step
      group by s.step
    ) c
  ) d
) r
order by step nulls last, step nulls last
limit 3 offset 0;

/* /api/stats/funnel/{id} */
select *, count(*) over () as total_rows
from (
  select id, max(started) as started
  from (
    with chosen as (
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
    ), level_0 as (
      select session_id as id, min(timestamp) as moment, max(session_start) as started
      from events as e
      where site_id = 1
        and session_start >= timestamp '2026-10-24 22:00:00.000'
        and session_start < timestamp '2026-10-26 12:00:00.000'
        and session_id in (
          select session_id
          from chosen
        )
        and (((kind is not null and kind in ('pageview')) and (pathname is not null and (starts_with(pathname, '/docs')))))
      group by session_id
    ), level_1 as (
      select p.id as id, min(e.timestamp) as moment, max(p.started) as started
      from (
        select *
        from events as r
        where site_id = 1
          and session_start >= timestamp '2026-10-24 22:00:00.000'
          and session_start < timestamp '2026-10-26 12:00:00.000'
          and session_id in (
            select session_id
            from chosen
          )
          and (((kind is not null and kind in ('custom')) and (event_name is not null and event_name in ('signup'))))
      ) e
      join level_0 p on e.session_id = p.id
        and e.timestamp > p.moment
      group by p.id
    )
    select 1 as step, id, started
    from level_0
    union all
    select n.step, w.id, p.started
    from (
      select id, max(case when moment - began_1 <= 3600000 then 2 when moment - began_0 <= 3600000 then 1 else 0 end) as steps
      from (
        select *, case when is_1 = 1 then max(began_0) over (partition by id order by moment range between unbounded preceding and 1 preceding) end as began_1
        from (
          select *, case when is_0 = 1 then moment end as began_0
          from (
            select session_id as id, epoch_ms(timestamp) as moment, case when (((kind is not null and kind in ('pageview')) and (pathname is not null and (starts_with(pathname, '/docs'))))) then 1 else 0 end as is_0,
                case when (((kind is not null and kind in ('custom')) and (event_name is not null and event_name in ('signup')))) then 1 else 0 end as is_1
            from events as e
            where site_id = 1
              and session_start >= timestamp '2026-10-24 22:00:00.000'
              and session_start < timestamp '2026-10-26 12:00:00.000'
              and session_id in (
                select session_id
                from chosen
              )
              and ((((kind is not null and kind in ('pageview')) and (pathname is not null and (starts_with(pathname, '/docs'))))) or (((kind is not null and kind in ('custom')) and (event_name is not null and event_name in ('signup')))))
              and session_id in (
                select id
                from level_1
              )
          ) h
        ) c
      ) c
      group by id
    ) w
    join level_0 p on p.id = w.id
    join (
      select 2 as step
    ) n on n.step <= w.steps
  ) r
  group by id
  having max(step) >= 2
) r
order by started desc nulls last, id nulls last
limit 10 offset 0;
