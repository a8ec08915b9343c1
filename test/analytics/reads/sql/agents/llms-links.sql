/* /api/agents/llms-links */
select pathname
from (
  select 'example.com' as hostname, pathname
  from (
    select unnest(from_json('[{"pathname":"/docs"}]', '[{"pathname":"varchar"}]'), recursive := true)
  ) l
) u
where true
order by pathname;

/* /api/agents/llms-links */
select agent_id, pathname, count(*) as reads, max(timestamp) as last_read
from agent_events
where site_id = 1
  and timestamp >= timestamp '2026-10-24 22:00:00.000'
  and timestamp < timestamp '2026-10-26 12:00:00.000'
  and ((country is not null and country in ('US')))
  and hostname = 'example.com'
  and pathname in ('/llms.txt', '/llms-full.txt')
  and method = 'GET'
  and not verification = 'spoofed'
  and coalesce(action, 'allow') = 'allow'
  and status >= 200
  and status < 400
group by agent_id, pathname
order by agent_id, pathname;

/* /api/agents/llms-links */
select *
from (
  select agent_id, count(*) as follows, sum(fetches) as fetches, count(distinct agent_id) as agents,
      count(distinct pathname) as links, quantile_cont(ms / 1000.0, 0.5) as seconds, quantile_cont(place, 0.5) as place
  from (
    select agent_id, pathname, fetches, ms, row_number() over (partition by agent_id, client, read_at order by ms, pathname) as place
    from (
      select agent_id, client, read_at, f.pathname as pathname, count(*) as fetches, min(epoch_ms(timestamp) - epoch_ms(read_at)) as ms
      from (
        select agent_id, client, pathname, timestamp, is_read, max(case when is_read = 1 then timestamp end) over (partition by agent_id, client order by timestamp, is_read desc, pathname rows between unbounded preceding and current row) as read_at
        from (
          select agent_id, case when agent_id = 'other' then user_agent else '' end as client,
              pathname, timestamp, case when pathname = '/llms.txt' then 1 else 0 end as is_read
          from agent_events
          where site_id = 1
            and timestamp >= timestamp '2026-10-23 22:00:00.000'
            and timestamp < timestamp '2026-10-26 12:00:00.000'
            and ((country is not null and country in ('US')))
            and hostname = 'example.com'
            and method = 'GET'
            and not verification = 'spoofed'
            and coalesce(action, 'allow') = 'allow'
            and ((pathname = '/llms.txt' and status >= 200 and status < 400) or (pathname <> '/llms.txt' and pathname in (
              select pathname
              from (
                select pathname, make_timestamp(since * 1000) as since, make_timestamp(until * 1000) as until
                from (
                  select unnest(from_json('[{"pathname":"/docs","since":1792454400000,"until":1793016000000}]', '[{"pathname":"varchar","since":"bigint","until":"bigint"}]'), recursive := true)
                )
              ) n
            )))
        ) r
      ) f
      join (
        select pathname, make_timestamp(since * 1000) as since, make_timestamp(until * 1000) as until
        from (
          select unnest(from_json('[{"pathname":"/docs","since":1792454400000,"until":1793016000000}]', '[{"pathname":"varchar","since":"bigint","until":"bigint"}]'), recursive := true)
        )
      ) l on l.pathname = f.pathname
      where is_read = 0
        and timestamp >= timestamp '2026-10-24 22:00:00.000'
        and read_at is not null
        and epoch_ms(timestamp) - epoch_ms(read_at) <= 86400000
        and read_at >= since
        and read_at < until
      group by agent_id, client, read_at, f.pathname
    ) g
  ) f
  group by agent_id
) f
order by agent_id
limit 2000;

/* /api/agents/llms-links */
select *
from (
  select pathname, count(*) as follows, sum(fetches) as fetches, count(distinct agent_id) as agents,
      count(distinct pathname) as links, quantile_cont(ms / 1000.0, 0.5) as seconds, quantile_cont(place, 0.5) as place
  from (
    select agent_id, pathname, fetches, ms, row_number() over (partition by agent_id, client, read_at order by ms, pathname) as place
    from (
      select agent_id, client, read_at, f.pathname as pathname, count(*) as fetches, min(epoch_ms(timestamp) - epoch_ms(read_at)) as ms
      from (
        select agent_id, client, pathname, timestamp, is_read, max(case when is_read = 1 then timestamp end) over (partition by agent_id, client order by timestamp, is_read desc, pathname rows between unbounded preceding and current row) as read_at
        from (
          select agent_id, case when agent_id = 'other' then user_agent else '' end as client,
              pathname, timestamp, case when pathname = '/llms.txt' then 1 else 0 end as is_read
          from agent_events
          where site_id = 1
            and timestamp >= timestamp '2026-10-23 22:00:00.000'
            and timestamp < timestamp '2026-10-26 12:00:00.000'
            and ((country is not null and country in ('US')))
            and hostname = 'example.com'
            and method = 'GET'
            and not verification = 'spoofed'
            and coalesce(action, 'allow') = 'allow'
            and ((pathname = '/llms.txt' and status >= 200 and status < 400) or (pathname <> '/llms.txt' and pathname in (
              select pathname
              from (
                select pathname, make_timestamp(since * 1000) as since, make_timestamp(until * 1000) as until
                from (
                  select unnest(from_json('[{"pathname":"/docs","since":1792454400000,"until":1793016000000}]', '[{"pathname":"varchar","since":"bigint","until":"bigint"}]'), recursive := true)
                )
              ) n
            )))
        ) r
      ) f
      join (
        select pathname, make_timestamp(since * 1000) as since, make_timestamp(until * 1000) as until
        from (
          select unnest(from_json('[{"pathname":"/docs","since":1792454400000,"until":1793016000000}]', '[{"pathname":"varchar","since":"bigint","until":"bigint"}]'), recursive := true)
        )
      ) l on l.pathname = f.pathname
      where is_read = 0
        and timestamp >= timestamp '2026-10-24 22:00:00.000'
        and read_at is not null
        and epoch_ms(timestamp) - epoch_ms(read_at) <= 86400000
        and read_at >= since
        and read_at < until
      group by agent_id, client, read_at, f.pathname
    ) g
  ) f
  group by pathname
) f
order by pathname
limit 2000;

/* /api/agents/llms-links */
select *
from (
  select agent_id, pathname, count(*) as follows, sum(fetches) as fetches, count(distinct agent_id) as agents,
      count(distinct pathname) as links, quantile_cont(ms / 1000.0, 0.5) as seconds, quantile_cont(place, 0.5) as place
  from (
    select agent_id, pathname, fetches, ms, row_number() over (partition by agent_id, client, read_at order by ms, pathname) as place
    from (
      select agent_id, client, read_at, f.pathname as pathname, count(*) as fetches, min(epoch_ms(timestamp) - epoch_ms(read_at)) as ms
      from (
        select agent_id, client, pathname, timestamp, is_read, max(case when is_read = 1 then timestamp end) over (partition by agent_id, client order by timestamp, is_read desc, pathname rows between unbounded preceding and current row) as read_at
        from (
          select agent_id, case when agent_id = 'other' then user_agent else '' end as client,
              pathname, timestamp, case when pathname = '/llms.txt' then 1 else 0 end as is_read
          from agent_events
          where site_id = 1
            and timestamp >= timestamp '2026-10-23 22:00:00.000'
            and timestamp < timestamp '2026-10-26 12:00:00.000'
            and ((country is not null and country in ('US')))
            and hostname = 'example.com'
            and method = 'GET'
            and not verification = 'spoofed'
            and coalesce(action, 'allow') = 'allow'
            and ((pathname = '/llms.txt' and status >= 200 and status < 400) or (pathname <> '/llms.txt' and pathname in (
              select pathname
              from (
                select pathname, make_timestamp(since * 1000) as since, make_timestamp(until * 1000) as until
                from (
                  select unnest(from_json('[{"pathname":"/docs","since":1792454400000,"until":1793016000000}]', '[{"pathname":"varchar","since":"bigint","until":"bigint"}]'), recursive := true)
                )
              ) n
            )))
        ) r
      ) f
      join (
        select pathname, make_timestamp(since * 1000) as since, make_timestamp(until * 1000) as until
        from (
          select unnest(from_json('[{"pathname":"/docs","since":1792454400000,"until":1793016000000}]', '[{"pathname":"varchar","since":"bigint","until":"bigint"}]'), recursive := true)
        )
      ) l on l.pathname = f.pathname
      where is_read = 0
        and timestamp >= timestamp '2026-10-24 22:00:00.000'
        and read_at is not null
        and epoch_ms(timestamp) - epoch_ms(read_at) <= 86400000
        and read_at >= since
        and read_at < until
      group by agent_id, client, read_at, f.pathname
    ) g
  ) f
  group by agent_id, pathname
) f
order by follows desc, agent_id, pathname
limit 2000;
