/* /api/stats/events */
select *, count(*) over () as total_rows
from (
  select name, kind, count(*) as events, count(distinct visitor_id) as visitors
  from (
    select coalesce(event_name, kind) as name, kind, visitor_id, props
    from events as e
    where site_id = 1
      and timestamp >= timestamp '2026-10-24 22:00:00.000'
      and timestamp < timestamp '2026-10-26 12:00:00.000'
      and ((country is not null and country in ('US')))
      and kind in ('custom', 'outbound', 'file_download', 'form')
      and true
  ) e
  group by name, kind
) r
order by events desc nulls last, visitors desc nulls last, name nulls last, kind nulls last
limit 10 offset 0;

/* /api/stats/events */
select name, kind, key, value, n as events, nth_key, nth_value
from (
  select *, dense_rank() over (partition by name, kind order by of_key desc, key) as nth_key
  from (
    select name, kind, key, value, n, sum(n) over (partition by name, kind, key) as of_key,
        row_number() over (partition by name, kind, key order by n desc, value) as nth_value
    from (
      select name, kind, key, value, count(*) as n
      from (
        select f.*, unnest(map_keys(pairs)) as key, unnest(map_values(pairs)) as value
        from (
          select *, try(from_json(props, '"map(varchar, varchar)"')) as pairs
          from (
            select *
            from (
              select coalesce(event_name, kind) as name, kind, visitor_id, props
              from events as e
              where site_id = 1
                and timestamp >= timestamp '2026-10-24 22:00:00.000'
                and timestamp < timestamp '2026-10-26 12:00:00.000'
                and ((country is not null and country in ('US')))
                and kind in ('custom', 'outbound', 'file_download', 'form')
                and true
            ) e
            where props is not null
              and (name in ('signup') and kind in ('custom'))
          ) j
        ) f
      ) p
      where value is not null
      group by name, kind, key, value
    ) c
  ) v
) k
where nth_key <= 21
  and nth_value <= 11
order by nth_key, nth_value;
