/* /api/agents/coverage */
select distinct hostname
from sitemap_urls;

/* /api/agents/coverage */
select *, count(*) over () as total_rows
from (
  select *, case when last_crawl is null then 1 else 0 end as never
  from (
    select *
    from (
      select hostname, pathname, min(first_crawl) as first_crawl, max(last_crawl) as last_crawl,
          sum(f) as fetches, sum(s) as spoofed, sum(v) as pageviews, max(l) as listed
      from (
        select hostname, pathname, min(case when now and verification <> 'spoofed' then first end) as first_crawl,
            max(case when verification <> 'spoofed' then last end) as last_crawl, sum(case when now then n else 0 end) as f,
            sum(case when now and not verification <> 'spoofed' then n else 0 end) as s, 0 as v,
            0 as l
        from (
          select hostname, pathname, verification, timestamp >= timestamp '2026-10-24 22:00:00.000' as now,
              count(*) as n, min(timestamp) as first, max(timestamp) as last
          from agent_events
          where site_id = 1
            and timestamp < timestamp '2026-10-26 12:00:00.000'
            and ((country is not null and country in ('US')))
          group by hostname, pathname, verification, now
        ) c
        group by hostname, pathname
        union all
        select hostname, pathname, null as first_crawl, null as last_crawl, 0 as f, 0 as s,
            count(*) as v, 0 as l
        from events as e
        where site_id = 1
          and timestamp >= timestamp '2026-10-24 22:00:00.000'
          and timestamp < timestamp '2026-10-26 12:00:00.000'
          and ((country is not null and country in ('US')))
          and kind = 'pageview'
        group by hostname, pathname
        union all
        select hostname, pathname, null as first_crawl, null as last_crawl, 0 as f, 0 as s,
            0 as v, 1 as l
        from sitemap_urls
        where hostname in ('example.com')
          and true
      ) b
      group by hostname, pathname
    ) u
    where fetches > 0 or pageviews > 0 or listed = 1
  ) u
) r
order by fetches desc nulls last, pageviews desc nulls last, hostname nulls last, pathname nulls last
limit 10 offset 0;

/* /api/agents/coverage */
select hostname, pathname, agent_id
from agent_events
where site_id = 1
  and timestamp >= timestamp '2026-10-24 22:00:00.000'
  and timestamp < timestamp '2026-10-26 12:00:00.000'
  and ((country is not null and country in ('US')))
  and verification <> 'spoofed'
  and (hostname in ('example.com') and pathname in ('/docs', '/', '/pricing'))
group by hostname, pathname, agent_id
order by agent_id;

/* /api/agents/coverage */
select hostname, pathname, max(status) as last_status, min(case when robots_allowed then 1 else 0 end) as allowed,
    count(*) filter (where robots_allowed is null) as unknown, min(llms_listed) as llms_listed
from agent_events
where site_id = 1
  and timestamp < timestamp '2026-10-26 12:00:00.000'
  and ((country is not null and country in ('US')))
  and verification <> 'spoofed'
  and (hostname in ('example.com') and pathname in ('/docs') and timestamp in (timestamp '2026-10-25 05:00:00.000'))
group by hostname, pathname;
