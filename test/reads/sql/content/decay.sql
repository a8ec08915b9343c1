/* /api/content/decay */
select count(*) filter (where timestamp < timestamp '2026-10-24 22:00:00.000') as people_before,
    count(*) filter (where timestamp >= timestamp '2026-10-24 22:00:00.000') as people_now
from events as e
where site_id = 1
  and timestamp >= timestamp '2026-10-23 08:00:00.000'
  and timestamp < timestamp '2026-10-26 12:00:00.000'
  and ((country is not null and country in ('US')))
  and kind = 'pageview';

/* /api/content/decay */
select *, count(*) over () as total_rows
from (
  select *, people_before - people_now as lost, case verdict when 'decaying' then 0 when 'fading' then 1 when 'steady' then 2 else 3 end as rank
  from (
    select *, case when not (false and people_before >= 50 and agents_before >= 10) then 'insufficient' when not (people_before * 3 * 2 >= people_now * 4 * 0 and true) then 'steady' when agents_now * 10 > agents_before * 9 then 'decaying' else 'fading' end as verdict
    from (
      select p.hostname, p.pathname, people_before, people_now, coalesce(agents_before, 0) as agents_before,
          coalesce(agents_now, 0) as agents_now
      from (
        select hostname, pathname, count(*) filter (where timestamp < timestamp '2026-10-24 22:00:00.000') as people_before,
            count(*) filter (where timestamp >= timestamp '2026-10-24 22:00:00.000') as people_now
        from events as e
        where site_id = 1
          and timestamp >= timestamp '2026-10-23 08:00:00.000'
          and timestamp < timestamp '2026-10-26 12:00:00.000'
          and ((country is not null and country in ('US')))
          and kind = 'pageview'
        group by hostname, pathname
      ) p
      left join (
        select hostname, pathname, count(*) filter (where timestamp < timestamp '2026-10-24 22:00:00.000') as agents_before,
            count(*) filter (where timestamp >= timestamp '2026-10-24 22:00:00.000') as agents_now
        from agent_events
        where site_id = 1
          and timestamp >= timestamp '2026-10-23 08:00:00.000'
          and timestamp < timestamp '2026-10-26 12:00:00.000'
          and ((country is not null and country in ('US')))
          and verification <> 'spoofed'
          and purpose not in ('monitor', 'seo')
        group by hostname, pathname
      ) a on a.hostname = p.hostname
        and a.pathname = p.pathname
    ) u
  ) v
) r
order by rank asc nulls last, lost desc nulls last, hostname nulls last, pathname nulls last
limit 10 offset 0;

/* /api/content/decay */
select hostname, pathname, agent_id, max(timestamp) filter (where not timestamp >= timestamp '2026-10-24 22:00:00.000') as seen_before,
    max(timestamp) filter (where timestamp >= timestamp '2026-10-24 22:00:00.000') as seen_now,
    arg_max(case when status between 200 and 299 or status = 304 then 1 else 0 end, (timestamp, case when status between 200 and 299 or status = 304 then 1 else 0 end)) filter (where not timestamp >= timestamp '2026-10-24 22:00:00.000') as good_before,
    arg_max(case when status between 200 and 299 or status = 304 then 1 else 0 end, (timestamp, case when status between 200 and 299 or status = 304 then 1 else 0 end)) filter (where timestamp >= timestamp '2026-10-24 22:00:00.000') as good_now,
    arg_max(case when robots_allowed then 1 else 0 end, (timestamp, case when robots_allowed then 1 else 0 end)) filter (where not timestamp >= timestamp '2026-10-24 22:00:00.000' and robots_allowed is not null) as allowed_before,
    arg_max(case when robots_allowed then 1 else 0 end, (timestamp, case when robots_allowed then 1 else 0 end)) filter (where timestamp >= timestamp '2026-10-24 22:00:00.000' and robots_allowed is not null) as allowed_now
from agent_events
where site_id = 1
  and timestamp >= timestamp '2026-10-23 08:00:00.000'
  and timestamp < timestamp '2026-10-26 12:00:00.000'
  and ((country is not null and country in ('US')))
  and verification <> 'spoofed'
  and purpose not in ('monitor', 'seo')
  and (hostname in ('example.com') and pathname in ('/', '/pricing'))
group by hostname, pathname, agent_id;
