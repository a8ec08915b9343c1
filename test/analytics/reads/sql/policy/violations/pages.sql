/* /api/policy/violations/pages */
select *, count(*) over () as total_rows
from (
  select hostname, pathname, rank, agents, breach, unbound, unclear, unverified, grace, fetches,
      first_seen, last_seen, deciding[1] as rule, deciding[2] as line
  from (
    select hostname, pathname, min(rank) as rank, count(distinct agent_id) as agents, sum(case when severity = 'breach' then fetches else 0 end) as breach,
        sum(case when severity = 'unbound' then fetches else 0 end) as unbound, sum(case when severity = 'unclear' then fetches else 0 end) as unclear,
        sum(case when severity = 'unverified' then fetches else 0 end) as unverified, sum(case when severity = 'grace' then fetches else 0 end) as grace,
        sum(fetches) as fetches, min(first_seen) as first_seen, max(last_seen) as last_seen,
        arg_min(row(rule, line), row(-weight, coalesce(line, 0), coalesce(rule, ''))) as deciding
    from (
      select *, sum(fetches) over (partition by hostname, pathname, rule, line) as weight
      from (
        select *, case severity when 'breach' then 0 when 'unbound' then 1 when 'unclear' then 2 when 'unverified' then 3 when 'grace' then 4 end as rank
        from (
          select *
          from (
            select agent_id, operator, verified, hostname, pathname, rule, line, n as fetches,
                first_seen, last_seen, case when grace then 'grace' when verified is null or not verified then 'unverified' when false then 'breach' when false then 'unbound' else 'unclear' end as severity
            from (
              select agent_id, operator, verified, hostname, pathname, robots_rule as rule,
                  robots_line as line, robots_grace is not null
                and robots_grace as grace, count(*) as n, min(timestamp) as first_seen, max(timestamp) as last_seen
              from agent_events
              where site_id = 1
                and timestamp >= timestamp '2026-10-24 22:00:00.000'
                and timestamp < timestamp '2026-10-26 12:00:00.000'
                and ((country is not null and country in ('US')))
                and not robots_allowed
              group by agent_id, operator, verified, hostname, pathname, robots_rule, robots_line,
                  grace
            ) g
          ) s
          where true
        ) r
      ) v
    ) w
    group by hostname, pathname
  ) u
) r
order by rank asc nulls last, fetches desc nulls last, hostname nulls last, pathname nulls last
limit 10 offset 0;
