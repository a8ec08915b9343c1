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
          sum(fetches) as fetches, sum(spoofed) as spoofed, sum(v) as pageviews, max(l) as listed
      from (
        select hostname, pathname, first_crawl, last_crawl, fetches, spoofed, 0 as v, 0 as l
        from (
          select hostname as hostname, pathname as pathname, count(*) as fetches, count(*) filter (where verification = 'spoofed') as spoofed,
              min(timestamp) filter (where not verification = 'spoofed' and coalesce(action, 'allow') = 'allow') as first_crawl,
              max(timestamp) filter (where not verification = 'spoofed' and coalesce(action, 'allow') = 'allow') as last_crawl
          from agent_events as e
          where site_id = 1
            and timestamp >= timestamp '2026-10-24 22:00:00.000'
            and timestamp < timestamp '2026-10-26 12:00:00.000'
            and true
            and true
            and ((country is not null and country in ('US')))
            and true
          group by hostname, pathname
        ) now
        union all
        select hostname, pathname, null as first_crawl, last_crawl, 0 as fetches, 0 as spoofed,
            0 as v, 0 as l
        from (
          select hostname as hostname, pathname as pathname, max(timestamp) as last_crawl
          from agent_events as e
          where site_id = 1
            and timestamp >= timestamp '1970-01-01 00:00:00.000'
            and timestamp < timestamp '2026-10-24 22:00:00.000'
            and true
            and (not verification = 'spoofed' and coalesce(action, 'allow') = 'allow')
            and ((country is not null and country in ('US')))
            and true
          group by hostname, pathname
        ) earlier
        union all
        select hostname, pathname, null as first_crawl, null as last_crawl, 0 as fetches, 0 as spoofed,
            views as v, 0 as l
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
        ) p
        union all
        select hostname, pathname, null as first_crawl, null as last_crawl, 0 as fetches, 0 as spoofed,
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
select distinct hostname, pathname, agent_id
from (
  select distinct hostname, pathname, agent_id
  from agent_events
  where site_id = 1
    and timestamp >= timestamp '2026-10-24 22:00:00.000'
    and timestamp < timestamp '2026-10-26 12:00:00.000'
    and ((country is not null and country in ('US')))
    and (hostname in ('example.com') and pathname in ('/docs', '/', '/pricing'))
    and not verification = 'spoofed'
    and coalesce(action, 'allow') = 'allow'
) a
order by agent_id;

/* /api/agents/coverage */
select hostname, pathname, max(status) as last_status, min(case when robots_allowed then 1 else 0 end) as allowed,
    count(*) filter (where robots_allowed is null) as unknown, min(llms_listed) as llms_listed
from agent_events
where site_id = 1
  and timestamp < timestamp '2026-10-26 12:00:00.000'
  and timestamp >= timestamp '2026-10-25 05:00:00.000'
  and ((country is not null and country in ('US')))
  and not verification = 'spoofed'
  and coalesce(action, 'allow') = 'allow'
  and (hostname in ('example.com') and pathname in ('/docs') and timestamp in (timestamp '2026-10-25 05:00:00.000'))
group by hostname, pathname;
