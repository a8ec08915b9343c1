/* /api/stats/journeys/steps */
select side, matched, kind, name as pathname, sum(n) as n, count(*) as pages
from (
  select *, case when kind = 'page' then pathname end as name
  from (
    select *, case when pathname is null then 'edge' when place <= 20 then 'page' else 'other' end as kind
    from (
      select *, row_number() over (partition by side, pathname is null order by n desc, pathname) as place
      from (
        select side, case side when 3 then matched else 0 end as matched, case side when 1 then came_from when 2 then went_to end as pathname,
            count(*) as n
        from (
          select *
          from (
            select *, row_number() over (partition by visit order by matched desc, n) as place
            from (
              select visit, n, 1 + (case when next_1 = '/docs' then 1 + 0 else 0 end) as matched,
                  came_from, next_2 as went_to
              from (
                select visit, pathname, row_number() over (partition by visit order by timestamp, pathname) as n,
                    lag(pathname) over (partition by visit order by timestamp, pathname) as came_from,
                    lead(pathname, 1) over (partition by visit order by timestamp, pathname) as next_1,
                    lead(pathname, 2) over (partition by visit order by timestamp, pathname) as next_2
                from (
                  select session_id as visit, timestamp, pathname
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
                    ) w
                    where session_id in (
                      select session_id
                      from (
                        select session_id, timestamp, pathname
                        from (
                          select *
                          from events
                          where site_id = 1
                            and session_start >= timestamp '2026-10-24 22:00:00.000'
                            and session_start < timestamp '2026-10-26 12:00:00.000'
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
                      ) x
                      where pathname = '/'
                    )
                  ) p
                  where previous is null or previous <> pathname
                ) v
              ) s
              where pathname = '/'
            ) f
          ) r
          where place = 1
        ) c
        cross join (
          select 1 as side
          union all
          select 2 as side
          union all
          select 3 as side
        ) s
        where side = 3 or matched = 2
        group by 1, 2, 3
      ) c
    ) r
  ) k
) g
group by 1, 2, 3, 4;

/* /api/stats/journeys/steps */
select step_1, step_2, step_3, step_4, step_5, step_6, step_7, step_8, count(*) as sessions
from (
  select session_id, step_1, step_2, step_3, step_4, step_5, step_6, step_7, step_8
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
      max(case when step = 3 then pathname end) as step_3, max(case when step = 4 then pathname end) as step_4,
      max(case when step = 5 then pathname end) as step_5, max(case when step = 6 then pathname end) as step_6,
      max(case when step = 7 then pathname end) as step_7, max(case when step = 8 then pathname end) as step_8
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
  where step <= 8
  group by session_id
) w
where (step_1 = '/' and step_2 = '/docs') or (step_2 = '/' and step_3 = '/docs') or (step_3 = '/' and step_4 = '/docs') or (step_4 = '/' and step_5 = '/docs') or (step_5 = '/' and step_6 = '/docs') or (step_6 = '/' and step_7 = '/docs') or (step_7 = '/' and step_8 = '/docs')
group by step_1, step_2, step_3, step_4, step_5, step_6, step_7, step_8
order by sessions desc, step_1 nulls first, step_2 nulls first, step_3 nulls first, step_4 nulls first,
    step_5 nulls first, step_6 nulls first, step_7 nulls first, step_8 nulls first
limit 5;
