/* /api/citation-gap/summary */ with v as materialized (
  with c as materialized (
    select hostname, pathname, fetches, arrivals, refused * 2 > attempts as refused, case when arrivals > 0 then fetches * 1.0 / arrivals end as ratio
    from (
      select hostname, pathname, sum(f) as fetches, sum(a) as arrivals, sum(n) as attempts,
          sum(r) as refused, sum(v) as views
      from (
        select hostname, pathname, page_reads as f, 0 as a, attempts as n, refused as r, 0 as v
        from (
          select hostname as hostname, pathname as pathname, count(*) as attempts, count(*) filter (where method = 'GET' and status in (200, 206, 304) and case when content_type is null then status = 304 and (is_pageview or lower(pathname) like '%.md' or lower(pathname) like '%.markdown' or lower(pathname) like '%.pdf') else content_type in ('text/html', 'application/xhtml+xml', 'text/markdown', 'text/x-markdown', 'application/pdf') end) as page_reads,
              count(*) filter (where status in (401, 403, 429)) as refused
          from agent_events as e
          where site_id = 1
            and timestamp >= timestamp '2026-10-24 22:00:00.000'
            and timestamp < timestamp '2026-10-26 12:00:00.000'
            and true
            and (not verification = 'spoofed' and coalesce(purpose in ('search', 'assistant'), false))
            and ((country is not null and country in ('US')))
            and true
          group by hostname, pathname
        ) fetched
        union all
        select hostname, pathname, 0 as f, arrivals as a, 0 as n, 0 as r, views as v
        from (
          select hostname as hostname, pathname as pathname, case when channel = 'AI Assistants' and timestamp = session_start and pathname = entry_page then source end as assistant,
              count(*) as views, count(distinct session_id) filter (where channel = 'AI Assistants' and timestamp = session_start and pathname = entry_page) as arrivals
          from events as e
          where site_id = 1
            and timestamp >= timestamp '2026-10-24 22:00:00.000'
            and timestamp < timestamp '2026-10-26 12:00:00.000'
            and kind = 'pageview'
            and true
            and ((country is not null and country in ('US')))
            and true
          group by hostname, pathname, assistant
        ) viewed
      ) s
      group by hostname, pathname
    ) u
    where fetches > 0 or views > 0 or refused * 2 > attempts
  ), m as materialized (
    select coalesce(quantile_cont(ratio, 0.5), 0) as median
    from (
      select *
      from c
    ) w
    where fetches > 0
      and arrivals > 0
      and (fetches >= 10 or arrivals >= 3)
  )
  select hostname, pathname, fetches, arrivals, ratio, median, case when refused then 'blocked' when fetches = 0 and arrivals = 0 then 'unseen' when fetches < 10 and arrivals < 3 then 'insufficient' when fetches = 0 then 'unfetched' when arrivals = 0 or ratio > median * 3 then 'gap' when ratio < median / 3 then 'earning' else 'balanced' end as verdict
  from m
  left join c on true
)
select *
from (
  select *
  from (
    select hostname, pathname, verdict, 0 as n, 0 as fetches, 0 as arrivals, median
    from v
    where hostname is not null
      and false
    order by hostname, pathname
    limit 2000
  ) c
  union all
  select null as hostname, null as pathname, verdict, count(hostname) as n, sum(fetches) as fetches,
      sum(arrivals) as arrivals, max(median) as median
  from v
  group by verdict
) u
order by hostname, pathname;

/* /api/citation-gap/summary */
select fetches, arrivals, case when arrivals > 0 then fetches * 1.0 / arrivals end as ratio
from (
  select 0 as fetches, 1 as arrivals
) t;

/* /api/citation-gap/summary */
select *, count(*) over () as total_rows
from (
  select operator, fetches, arrivals, case when arrivals > 0 then fetches * 1.0 / arrivals end as ratio
  from (
    select operator, sum(f) as fetches, sum(a) as arrivals
    from (
      select operator, page_reads as f, 0 as a
      from (
        select operator as operator, count(*) filter (where method = 'GET' and status in (200, 206, 304) and case when content_type is null then status = 304 and (is_pageview or lower(pathname) like '%.md' or lower(pathname) like '%.markdown' or lower(pathname) like '%.pdf') else content_type in ('text/html', 'application/xhtml+xml', 'text/markdown', 'text/x-markdown', 'application/pdf') end) as page_reads
        from agent_events as e
        where site_id = 1
          and timestamp >= timestamp '2026-10-24 22:00:00.000'
          and timestamp < timestamp '2026-10-26 12:00:00.000'
          and true
          and (not verification = 'spoofed' and coalesce(purpose in ('search', 'assistant'), false))
          and ((country is not null and country in ('US')))
          and true
        group by operator
      ) fetched
      union all
      select case assistant when 'chatgpt.com' then 'OpenAI' end as operator, 0 as f, arrivals as a
      from (
        select hostname as hostname, pathname as pathname, case when channel = 'AI Assistants' and timestamp = session_start and pathname = entry_page then source end as assistant,
            count(distinct session_id) filter (where timestamp = session_start and pathname = entry_page) as arrivals
        from events as e
        where site_id = 1
          and timestamp >= timestamp '2026-10-24 22:00:00.000'
          and timestamp < timestamp '2026-10-26 12:00:00.000'
          and kind = 'pageview'
          and (channel = 'AI Assistants')
          and ((country is not null and country in ('US')))
          and true
        group by hostname, pathname, assistant
      ) viewed
    ) s
    group by operator
  ) o
  where fetches > 0 or arrivals > 0
) r
order by fetches desc nulls last, arrivals desc nulls last, operator nulls last
limit 1000 offset 0;
