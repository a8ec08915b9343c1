/* /api/content/decay */
select (
  select sum(views)
  from (
    select count(*) as views
    from events as e
    where site_id = 1
      and timestamp >= timestamp '2026-10-23 08:00:00.000'
      and timestamp < timestamp '2026-10-24 22:00:00.000'
      and kind = 'pageview'
      and true
      and ((country is not null and country in ('US')))
      and true
  ) v
) as was, (
  select sum(views)
  from (
    select count(*) as views
    from events as e
    where site_id = 1
      and timestamp >= timestamp '2026-10-24 22:00:00.000'
      and timestamp < timestamp '2026-10-26 12:00:00.000'
      and kind = 'pageview'
      and true
      and ((country is not null and country in ('US')))
      and true
  ) v
) as now;

/* /api/content/decay */
select *, count(*) over () as total_rows
from (
  select *, people_before - people_now as lost, case verdict when 'decaying' then 0 when 'fading' then 1 when 'steady' then 2 else 3 end as rank
  from (
    select *, case when not (false and people_before >= 50 and agents_before >= 10) then 'insufficient' when not (people_before * 3 * 2 >= people_now * 4 * 0 and true) then 'steady' when agents_now * 10 > agents_before * 9 then 'decaying' else 'fading' end as verdict
    from (
      select *
      from (
        select hostname, pathname, sum(people_before) as people_before, sum(people_now) as people_now,
            sum(agents_before) as agents_before, sum(agents_now) as agents_now
        from (
          select hostname, pathname, views as people_before, 0 as people_now, 0 as agents_before,
              0 as agents_now
          from (
            select hostname as hostname, pathname as pathname, count(*) as views
            from events as e
            where site_id = 1
              and timestamp >= timestamp '2026-10-23 08:00:00.000'
              and timestamp < timestamp '2026-10-24 22:00:00.000'
              and kind = 'pageview'
              and true
              and ((country is not null and country in ('US')))
              and true
            group by hostname, pathname
          ) c
          union all
          select hostname, pathname, 0 as people_before, views as people_now, 0 as agents_before,
              0 as agents_now
          from (
            select hostname as hostname, pathname as pathname, count(*) as views
            from events as e
            where site_id = 1
              and timestamp >= timestamp '2026-10-24 22:00:00.000'
              and timestamp < timestamp '2026-10-26 12:00:00.000'
              and kind = 'pageview'
              and true
              and ((country is not null and country in ('US')))
              and true
            group by hostname, pathname
          ) c
          union all
          select hostname, pathname, 0 as people_before, 0 as people_now, readings as agents_before,
              0 as agents_now
          from (
            select hostname as hostname, pathname as pathname, count(*) as readings
            from agent_events as e
            where site_id = 1
              and timestamp >= timestamp '2026-10-23 08:00:00.000'
              and timestamp < timestamp '2026-10-24 22:00:00.000'
              and true
              and (not verification = 'spoofed' and coalesce(action, 'allow') = 'allow' and purpose not in ('monitor', 'seo'))
              and ((country is not null and country in ('US')))
              and true
            group by hostname, pathname
          ) c
          union all
          select hostname, pathname, 0 as people_before, 0 as people_now, 0 as agents_before,
              readings as agents_now
          from (
            select hostname as hostname, pathname as pathname, count(*) as readings
            from agent_events as e
            where site_id = 1
              and timestamp >= timestamp '2026-10-24 22:00:00.000'
              and timestamp < timestamp '2026-10-26 12:00:00.000'
              and true
              and (not verification = 'spoofed' and coalesce(action, 'allow') = 'allow' and purpose not in ('monitor', 'seo'))
              and ((country is not null and country in ('US')))
              and true
            group by hostname, pathname
          ) c
        ) b
        group by hostname, pathname
      ) u
      where people_before + people_now > 0
    ) u
  ) v
) r
order by rank asc nulls last, lost desc nulls last, hostname nulls last, pathname nulls last
limit 10 offset 0;
