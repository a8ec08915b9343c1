/* /api/stats/changes */ with compared as materialized (
  select entry_page, source, country, utm_campaign, (((epoch_ms(started) + (case when started < timestamp '2026-10-25 01:00:00.000' then 7200000 else 3600000 end)) // 86400000) * 86400000) as bucket,
      1 as n_now, 0 as n_before
  from (
    select started, entry_page, source, country, utm_campaign
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
    select min(session_start) as started, min(entry_page) as entry_page, min(source) as source,
        min(country) as country, min(utm_campaign) as utm_campaign
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
    group by session_id
  ) v
  where true
  union all
  select entry_page, source, country, utm_campaign, least((((epoch_ms((started + to_milliseconds(136800000))) + (case when (started + to_milliseconds(136800000)) < timestamp '2026-10-25 01:00:00.000' then 7200000 else 3600000 end)) // 86400000) * 86400000), 1792972800000) as bucket,
      0 as n_now, 1 as n_before
  from (
    select started, entry_page, source, country, utm_campaign
    from (
      /* aggregated sessions */
      select *, ms / 1000.0 as duration
      from sessions
      where site_id = 1
        and started >= timestamp '2026-10-23 08:00:00.000'
        and started < timestamp '2026-10-24 22:00:00.000'
        and not traits_vary
    ) as s
    where ((country is not null and country in ('US')))
    union all
    select min(session_start) as started, min(entry_page) as entry_page, min(source) as source,
        min(country) as country, min(utm_campaign) as utm_campaign
    from (
      /* hits that no aggregate replaces */
      select *
      from events
      where site_id = 1
        and session_start >= timestamp '2026-10-23 08:00:00.000'
        and session_start < timestamp '2026-10-24 22:00:00.000'
        and session_start >= timestamp '2026-10-25 12:00:00.000'
      union all
      select *
      from events
      where site_id = 1
        and session_start >= timestamp '2026-10-23 08:00:00.000'
        and session_start < timestamp '2026-10-24 22:00:00.000'
        and session_start < timestamp '2026-10-25 12:00:00.000'
        and session_id in (
          select session_id
          from sessions
          where site_id = 1
            and started >= timestamp '2026-10-23 08:00:00.000'
            and started < timestamp '2026-10-24 22:00:00.000'
            and traits_vary
        )
    ) as e
    where ((country is not null and country in ('US')))
    group by session_id
  ) v
  where true
)
select 'bucket' as dimension, cast(bucket as varchar) as value, 0 as spoofed, n_now, n_before,
    0 as n_values, 0 as rise, 0 as fall, 0 as excess
from (
  select bucket, sum(n_now) as n_now, sum(n_before) as n_before
  from compared
  group by bucket
) b
union all
select 'entry_page' as dimension, value, spoofed, n_now, n_before, n_values, rise, fall, excess
from (
  select value, spoofed, n_now, n_before, n_values, row_number() over (order by n_now - n_before desc, value nulls last, spoofed) as rise,
      row_number() over (order by n_now - n_before, value nulls last, spoofed) as fall, row_number() over (order by (case when t_before = 0 then n_now - n_before else (n_now - n_before) * t_before - n_before * (t_now - t_before) end) * case when t_now < t_before then -1 else 1 end desc, value nulls last, spoofed) as excess
  from (
    select value, spoofed, n_now, n_before, count(*) over () as n_values, sum(n_now) over () as t_now,
        sum(n_before) over () as t_before
    from (
      select entry_page as value, 0 as spoofed, sum(n_now) as n_now, sum(n_before) as n_before
      from compared
      group by entry_page
    ) g
  ) t
) r
where (n_now > n_before and rise <= 5) or (n_now < n_before and fall <= 3) or excess = 1
union all
select 'section' as dimension, value, spoofed, n_now, n_before, n_values, rise, fall, excess
from (
  select value, spoofed, n_now, n_before, n_values, row_number() over (order by n_now - n_before desc, value nulls last, spoofed) as rise,
      row_number() over (order by n_now - n_before, value nulls last, spoofed) as fall, row_number() over (order by (case when t_before = 0 then n_now - n_before else (n_now - n_before) * t_before - n_before * (t_now - t_before) end) * case when t_now < t_before then -1 else 1 end desc, value nulls last, spoofed) as excess
  from (
    select value, spoofed, n_now, n_before, count(*) over () as n_values, sum(n_now) over () as t_now,
        sum(n_before) over () as t_before
    from (
      select cast(null as varchar) as value, 0 as spoofed, sum(n_now) as n_now, sum(n_before) as n_before
      from (
        select entry_page, sum(n_now) as n_now, sum(n_before) as n_before
        from compared
        group by entry_page
      ) p
      group by value
    ) g
  ) t
) r
where (n_now > n_before and rise <= 5) or (n_now < n_before and fall <= 3) or excess = 1
union all
select 'source' as dimension, value, spoofed, n_now, n_before, n_values, rise, fall, excess
from (
  select value, spoofed, n_now, n_before, n_values, row_number() over (order by n_now - n_before desc, value nulls last, spoofed) as rise,
      row_number() over (order by n_now - n_before, value nulls last, spoofed) as fall, row_number() over (order by (case when t_before = 0 then n_now - n_before else (n_now - n_before) * t_before - n_before * (t_now - t_before) end) * case when t_now < t_before then -1 else 1 end desc, value nulls last, spoofed) as excess
  from (
    select value, spoofed, n_now, n_before, count(*) over () as n_values, sum(n_now) over () as t_now,
        sum(n_before) over () as t_before
    from (
      select source as value, 0 as spoofed, sum(n_now) as n_now, sum(n_before) as n_before
      from compared
      group by source
    ) g
  ) t
) r
where (n_now > n_before and rise <= 5) or (n_now < n_before and fall <= 3) or excess = 1
union all
select 'country' as dimension, value, spoofed, n_now, n_before, n_values, rise, fall, excess
from (
  select value, spoofed, n_now, n_before, n_values, row_number() over (order by n_now - n_before desc, value nulls last, spoofed) as rise,
      row_number() over (order by n_now - n_before, value nulls last, spoofed) as fall, row_number() over (order by (case when t_before = 0 then n_now - n_before else (n_now - n_before) * t_before - n_before * (t_now - t_before) end) * case when t_now < t_before then -1 else 1 end desc, value nulls last, spoofed) as excess
  from (
    select value, spoofed, n_now, n_before, count(*) over () as n_values, sum(n_now) over () as t_now,
        sum(n_before) over () as t_before
    from (
      select country as value, 0 as spoofed, sum(n_now) as n_now, sum(n_before) as n_before
      from compared
      group by country
    ) g
  ) t
) r
where (n_now > n_before and rise <= 5) or (n_now < n_before and fall <= 3) or excess = 1
union all
select 'utm_campaign' as dimension, value, spoofed, n_now, n_before, n_values, rise, fall, excess
from (
  select value, spoofed, n_now, n_before, n_values, row_number() over (order by n_now - n_before desc, value nulls last, spoofed) as rise,
      row_number() over (order by n_now - n_before, value nulls last, spoofed) as fall, row_number() over (order by (case when t_before = 0 then n_now - n_before else (n_now - n_before) * t_before - n_before * (t_now - t_before) end) * case when t_now < t_before then -1 else 1 end desc, value nulls last, spoofed) as excess
  from (
    select value, spoofed, n_now, n_before, count(*) over () as n_values, sum(n_now) over () as t_now,
        sum(n_before) over () as t_before
    from (
      select utm_campaign as value, 0 as spoofed, sum(n_now) as n_now, sum(n_before) as n_before
      from compared
      group by utm_campaign
    ) g
  ) t
) r
where (n_now > n_before and rise <= 5) or (n_now < n_before and fall <= 3) or excess = 1;
