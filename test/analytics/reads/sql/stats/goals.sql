/* /api/stats/goals */
select *, count(*) over () as total_rows
from (
  select id, name, conversions, visitors, case when everyone > 0 then least(1.0, visitors * 1.0 / everyone) end as rate
  from (
    select *, (
      select visitors
      from (
        select value, count(distinct visitor_id) as visitors, sum(views) as pageviews, sum(interactions) as events
        from (
          select 0 as value, visitor_id, views, interactions
          from (
            /* aggregated sessions */
            select *, ms / 1000.0 as duration
            from sessions
            where site_id = 1
              and started >= timestamp '2026-10-24 22:00:00.000'
              and started < timestamp '2026-10-25 12:00:00.000'
          ) as s
          where (ended < timestamp '2026-10-26 12:00:00.000' and visitor_ids = 1 and not traits_vary and 0 = 0)
            and ((country is not null and country in ('US')))
          union all
          select 0 as value, visitor_id, case when kind = 'pageview' then 1 else 0 end as views,
              case when kind in ('custom', 'outbound', 'file_download', 'form') then 1 else 0 end as interactions
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
        ) b
        group by value
      ) a
    ) as everyone
    from (
      select 1 as id, 'Signed up' as name, c.*
      from (
        select count(*) as conversions, count(distinct visitor_id) as visitors
        from events as e
        where site_id = 1
          and timestamp >= timestamp '2026-10-24 22:00:00.000'
          and timestamp < timestamp '2026-10-26 12:00:00.000'
          and ((country is not null and country in ('US')) and ((kind is not null and kind in ('custom')) and (event_name is not null and event_name in ('signup'))))
      ) c
    ) g
  ) r
) r
order by conversions desc nulls last, visitors desc nulls last, id nulls last, name nulls last
limit 10 offset 0;

/* /api/stats/goals */
select id, currency, sum(amount) as amount, sum(case when amount is null then 1 else 0 end) as unread
from (
  select 1 as id, said, case when regexp_matches(named, '^[A-Za-z]{3}$') then upper(named) else 'EUR' end as currency,
      case when regexp_matches(said, '^-?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?$') then try_cast(said as decimal(18, 4)) end as amount
  from (
    select try(json_extract_string(props, '/price')) as said, try(json_extract_string(props, '/currency')) as named
    from events as e
    where site_id = 1
      and timestamp >= timestamp '2026-10-24 22:00:00.000'
      and timestamp < timestamp '2026-10-26 12:00:00.000'
      and ((country is not null and country in ('US')) and ((kind is not null and kind in ('custom')) and (event_name is not null and event_name in ('signup'))))
  ) h
) r
where said is not null
  and said <> ''
group by id, currency;
