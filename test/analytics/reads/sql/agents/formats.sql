/* /api/agents/formats */
select agent_id, accepts, served, count(*) as fetches, count(import_id) as imported
from (
  select agent_id, accepts, case when content_type is null then null when content_type in ('text/html', 'application/xhtml+xml') then 'html' when content_type in ('text/markdown', 'text/x-markdown') then 'markdown' when content_type = 'application/json' or content_type like '%+json' then 'json' when content_type = 'text/plain' then 'text' else 'other' end as served,
      import_id
  from agent_events
  where site_id = 1
    and timestamp >= timestamp '2026-10-24 22:00:00.000'
    and timestamp < timestamp '2026-10-26 12:00:00.000'
    and ((country is not null and country in ('US')))
    and method = 'GET'
    and status in (200, 206)
    and not verification = 'spoofed'
    and coalesce(action, 'allow') = 'allow'
) f
group by agent_id, accepts, served
order by fetches desc, agent_id, accepts nulls last, served nulls last;

/* /api/agents/formats */
select agent_id, sum(fetches) as fetches
from (
  select t.hostname as hostname, t.pathname as pathname, agent_id, fetches
  from (
    select hostname, pathname, agent_id, regexp_extract(pathname, '(?is)^(.*?)/?(?:/index)?(?:[.]html?)?[.](?:md|markdown)$', 1) as name,
        count(*) as fetches
    from agent_events
    where site_id = 1
      and timestamp >= timestamp '2026-10-24 22:00:00.000'
      and timestamp < timestamp '2026-10-26 12:00:00.000'
      and ((country is not null and country in ('US')))
      and method = 'GET'
      and status in (200, 206)
      and not verification = 'spoofed'
      and coalesce(action, 'allow') = 'allow'
      and (ends_with(replace(lower(pathname), 'ς', 'σ'), '.md') or ends_with(replace(lower(pathname), 'ς', 'σ'), '.markdown'))
    group by hostname, pathname, agent_id
  ) t
  join (
    select distinct hostname, regexp_extract(pathname, '(?is)^(.*?)/?(?:/index)?(?:[.]html?)?$', 1) as name
    from (
      select hostname, pathname
      from agent_events
      where site_id = 1
        and timestamp >= timestamp '2026-10-24 22:00:00.000'
        and timestamp < timestamp '2026-10-26 12:00:00.000'
        and method = 'GET'
        and status in (200, 206)
        and not verification = 'spoofed'
        and coalesce(action, 'allow') = 'allow'
        and is_pageview
        and not (ends_with(replace(lower(pathname), 'ς', 'σ'), '.md') or ends_with(replace(lower(pathname), 'ς', 'σ'), '.markdown'))
      union all
      select hostname, pathname
      from events
      where site_id = 1
        and timestamp >= timestamp '2026-10-24 22:00:00.000'
        and timestamp < timestamp '2026-10-26 12:00:00.000'
        and kind = 'pageview'
        and coalesce(status, 200) < 400
    ) v
  ) p on p.hostname = t.hostname
    and p.name = t.name
) t
group by agent_id
order by agent_id;

/* /api/agents/formats */
select *
from (
  select hostname, pathname, count(*) as fetches, count(distinct agent_id) as agents
  from agent_events
  where site_id = 1
    and timestamp >= timestamp '2026-10-24 22:00:00.000'
    and timestamp < timestamp '2026-10-26 12:00:00.000'
    and ((country is not null and country in ('US')))
    and method = 'GET'
    and status in (200, 206)
    and not verification = 'spoofed'
    and coalesce(action, 'allow') = 'allow'
    and accepts = 'markdown'
    and case when content_type is null then null when content_type in ('text/html', 'application/xhtml+xml') then 'html' when content_type in ('text/markdown', 'text/x-markdown') then 'markdown' when content_type = 'application/json' or content_type like '%+json' then 'json' when content_type = 'text/plain' then 'text' else 'other' end = 'html'
  group by hostname, pathname
) p
order by fetches desc, hostname, pathname
limit 50;

/* /api/agents/formats */
select *
from (
  select hostname, pathname, sum(fetches) as fetches, count(distinct agent_id) as agents
  from (
    select t.hostname as hostname, t.pathname as pathname, agent_id, fetches
    from (
      select hostname, pathname, agent_id, regexp_extract(pathname, '(?is)^(.*?)/?(?:/index)?(?:[.]html?)?[.](?:md|markdown)$', 1) as name,
          count(*) as fetches
      from agent_events
      where site_id = 1
        and timestamp >= timestamp '2026-10-24 22:00:00.000'
        and timestamp < timestamp '2026-10-26 12:00:00.000'
        and ((country is not null and country in ('US')))
        and method = 'GET'
        and status in (200, 206)
        and not verification = 'spoofed'
        and coalesce(action, 'allow') = 'allow'
        and (ends_with(replace(lower(pathname), 'ς', 'σ'), '.md') or ends_with(replace(lower(pathname), 'ς', 'σ'), '.markdown'))
      group by hostname, pathname, agent_id
    ) t
    join (
      select distinct hostname, regexp_extract(pathname, '(?is)^(.*?)/?(?:/index)?(?:[.]html?)?$', 1) as name
      from (
        select hostname, pathname
        from agent_events
        where site_id = 1
          and timestamp >= timestamp '2026-10-24 22:00:00.000'
          and timestamp < timestamp '2026-10-26 12:00:00.000'
          and method = 'GET'
          and status in (200, 206)
          and not verification = 'spoofed'
          and coalesce(action, 'allow') = 'allow'
          and is_pageview
          and not (ends_with(replace(lower(pathname), 'ς', 'σ'), '.md') or ends_with(replace(lower(pathname), 'ς', 'σ'), '.markdown'))
        union all
        select hostname, pathname
        from events
        where site_id = 1
          and timestamp >= timestamp '2026-10-24 22:00:00.000'
          and timestamp < timestamp '2026-10-26 12:00:00.000'
          and kind = 'pageview'
          and coalesce(status, 200) < 400
      ) v
    ) p on p.hostname = t.hostname
      and p.name = t.name
  ) t
  group by hostname, pathname
) p
order by fetches desc, hostname, pathname
limit 50;
