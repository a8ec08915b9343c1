/* /api/stats/journeys */ with ways as (
  select session_id, step_1, step_2, step_3, step_4
  from (
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
          select *, ms / 1000.0 as duration
          from sessions
          where site_id = 1
            and started >= timestamp '2026-10-24 22:00:00.000'
            and started < timestamp '2026-10-25 12:00:00.000'
            and not mixed
        ) as s
        where ((country is not null and country in ('US')))
        union all
        select session_id, 0 as value, max(case when true and true then 1 else 0 end) as entered
        from (
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
                and mixed
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
                select *, ms / 1000.0 as duration
                from sessions
                where site_id = 1
                  and started >= timestamp '2026-10-24 22:00:00.000'
                  and started < timestamp '2026-10-25 12:00:00.000'
                  and not mixed
              ) as s
              where ((country is not null and country in ('US')))
              union all
              select session_id, 0 as value, max(case when true and true then 1 else 0 end) as entered
              from (
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
                      and mixed
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
), shown as (
  select step, pathname
  from (
    select step, pathname, row_number() over (partition by step order by n desc, pathname) as place
    from (
      select 1 as step, step_1 as pathname, count(*) as n
      from ways
      where step_1 is not null
      group by step_1
      union all
      select 2 as step, step_2 as pathname, count(*) as n
      from ways
      where step_2 is not null
      group by step_2
      union all
      select 3 as step, step_3 as pathname, count(*) as n
      from ways
      where step_3 is not null
      group by step_3
      union all
      select 4 as step, step_4 as pathname, count(*) as n
      from ways
      where step_4 is not null
      group by step_4
    ) c
  ) r
  where place <= 20
)
select 1 as step, s.pathname as source, t.pathname as target, case when step_2 is null then 1 else 0 end as ended,
    count(*) as sessions
from ways
left join (
  select pathname
  from shown
  where step = 1
) s on s.pathname = step_1
left join (
  select pathname
  from shown
  where step = 1 + 1
) t on t.pathname = step_2
where step_1 is not null
group by 1, 2, 3, 4
union all
select 2 as step, s.pathname as source, t.pathname as target, case when step_3 is null then 1 else 0 end as ended,
    count(*) as sessions
from ways
left join (
  select pathname
  from shown
  where step = 2
) s on s.pathname = step_2
left join (
  select pathname
  from shown
  where step = 2 + 1
) t on t.pathname = step_3
where step_2 is not null
group by 1, 2, 3, 4
union all
select 3 as step, s.pathname as source, t.pathname as target, case when step_4 is null then 1 else 0 end as ended,
    count(*) as sessions
from ways
left join (
  select pathname
  from shown
  where step = 3
) s on s.pathname = step_3
left join (
  select pathname
  from shown
  where step = 3 + 1
) t on t.pathname = step_4
where step_3 is not null
group by 1, 2, 3, 4
union all
select 4 as step, s.pathname as source, null as target, 0 as ended, count(*) as sessions
from ways
left join (
  select pathname
  from shown
  where step = 4
) s on s.pathname = step_4
where step_4 is not null
group by 1, 2, 3, 4;

/* /api/stats/journeys */
select count(*) as n
from (
  select session_id, 0 as value, 1 as entered
  from (
    select *, ms / 1000.0 as duration
    from sessions
    where site_id = 1
      and started >= timestamp '2026-10-24 22:00:00.000'
      and started < timestamp '2026-10-25 12:00:00.000'
      and not mixed
  ) as s
  where ((country is not null and country in ('US')))
  union all
  select session_id, 0 as value, max(case when true and true then 1 else 0 end) as entered
  from (
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
          and mixed
      )
  ) as e
  where ((country is not null and country in ('US')))
  group by session_id, value
) s;
