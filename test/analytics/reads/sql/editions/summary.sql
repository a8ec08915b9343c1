/* /api/editions/summary */
select distinct hostname
from sitemap_urls;

/* /api/editions/summary */
select count(*) as pages, count(*) filter (where varies) as varying, (
  select count(*)
  from (
    select hostname, pathname
    from page_samples
    where site_id = 1
      and true
      and prior_seen is not null
      and not varies
      and first_seen >= timestamp '2026-10-24 22:00:00.000'
      and first_seen < timestamp '2026-10-26 12:00:00.000'
    group by hostname, pathname
  ) c
) as changed, count(*) filter (where lastmod_verdict = 'agrees') as agrees, count(*) filter (where lastmod_verdict = 'missed') as missed,
    count(*) filter (where lastmod_verdict = 'unfounded') as unfounded
from (
  select p.hostname as hostname, p.pathname as pathname, title, first_seen, last_seen, prior_seen,
      varies, lastmod, case when varies or lastmod is null then null when prior_seen is not null and lastmod < (prior_seen + to_milliseconds(-86400000)) then 'missed' when lastmod > (first_seen + to_milliseconds(86400000)) and lastmod <= last_seen then 'unfounded' else 'agrees' end as lastmod_verdict
  from (
    select hostname, pathname, title, first_seen, last_seen, prior_seen, varies
    from page_samples
    where site_id = 1
      and true
      and first_seen < timestamp '2026-10-26 12:00:00.000'
      and (replaced_at is null or replaced_at >= timestamp '2026-10-26 12:00:00.000')
  ) p
  left join (
    select hostname, pathname, max(lastmod) as lastmod
    from sitemap_urls
    where hostname in ('example.com')
      and true
    group by hostname, pathname
  ) m on m.hostname = p.hostname
    and m.pathname = p.pathname
) p;

/* /api/editions/summary */
select agent_id, max(operator) as operator, count(*) as changes, count(again) as reread, quantile_cont(epoch_ms(again) - epoch_ms(first_seen), 0.5) as delay
from (
  select agent_id, max(operator) as operator, c.hostname, c.pathname, first_seen, min(case when timestamp >= first_seen and (replaced_at is null or timestamp < replaced_at) then timestamp end) as again,
      max(case when timestamp <= prior_seen then 1 else 0 end) as had
  from (
    select hostname, pathname, first_seen, prior_seen, replaced_at
    from page_samples
    where site_id = 1
      and true
      and prior_seen is not null
      and not varies
      and first_seen >= timestamp '2026-10-24 22:00:00.000'
      and first_seen < timestamp '2026-10-26 12:00:00.000'
  ) c
  join (
    select hostname, pathname, agent_id, operator, timestamp
    from agent_events
    where site_id = 1
      and timestamp < timestamp '2026-10-26 12:00:00.000'
      and method = 'GET'
      and status in (200, 304)
      and not verification = 'spoofed'
      and coalesce(action, 'allow') = 'allow'
      and coalesce(purpose in ('search', 'assistant'), false)
      and operator in ('OpenAI')
      and ((country is not null and country in ('US')))
  ) e on e.hostname = c.hostname
    and e.pathname = c.pathname
  group by agent_id, c.hostname, c.pathname, first_seen
) r
where had = 1
group by agent_id
order by changes desc, agent_id
limit 50;
