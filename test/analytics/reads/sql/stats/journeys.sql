/* /api/stats/journeys */ with pages as (
  select *
  from (
    select step, case step when 1 then step_1 when 2 then step_2 when 3 then step_3 when 4 then step_4 end as source,
        case step when 1 then step_2 when 2 then step_3 when 3 then step_4 end as target
    from (
      select session_id, step_1, step_2, step_3, step_4
      from (
        /* aggregated sessions */
        select *, ms / 1000.0 as duration
        from sessions
        where site_id = 1
          and started >= timestamp '2026-10-24 22:00:00.000'
          and started < timestamp '2026-10-25 12:00:00.000'
      ) s
      where step_1 is not null
        and session_id in (
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
      union all
      select session_id, max(case when step = 1 then pathname end) as step_1, max(case when step = 2 then pathname end) as step_2,
          max(case when step = 3 then pathname end) as step_3, max(case when step = 4 then pathname end) as step_4
      from (
        select session_id, pathname, row_number() over (partition by session_id order by timestamp, pathname) as step
        from (
          select *, lag(pathname) over (partition by session_id order by timestamp, pathname) as previous
          from (
            select session_id, timestamp, pathname
            from (
              /* hits that no aggregate replaces */
              select *
              from events
              where site_id = 1
                and session_start >= timestamp '2026-10-24 22:00:00.000'
                and session_start < timestamp '2026-10-26 12:00:00.000'
                and session_start >= timestamp '2026-10-25 12:00:00.000'
            ) e
            where kind = 'pageview'
              and session_id in (
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
          ) v
        ) p
        where previous is null or previous <> pathname
      ) n
      where step <= 4
      group by session_id
    ) w
    cross join (
      select 1 as step
      union all
      select 2 as step
      union all
      select 3 as step
      union all
      select 4 as step
    ) s
  ) p
  where source is not null
), shown as (
  select step, pathname
  from (
    select step, source as pathname, row_number() over (partition by step order by count(*) desc, source) as place
    from pages
    group by step, source
  ) r
  where place <= 20
)
select p.step as step, s.pathname as source, t.pathname as target, case when p.target is null then 1 else 0 end as ended,
    count(*) as sessions
from pages p
left join shown s on s.step = p.step
  and s.pathname = p.source
left join shown t on t.step = p.step + 1
  and t.pathname = p.target
group by 1, 2, 3, 4;

/* /api/stats/journeys */
select count(*) as n
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
) s;
