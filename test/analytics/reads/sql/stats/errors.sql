/* /api/stats/errors */
select *, count(*) over () as total_rows
from (
  select fingerprint, type, last_thrown[1] as message, last_thrown[2] as frame, count, visitors,
      sessions, first_seen, last_seen
  from (
    select fingerprint, max(type) as type, arg_max(row(message, frame), (timestamp, message)) as last_thrown,
        count(*) as count, count(distinct visitor_id) as visitors, count(distinct session_id) as sessions,
        min(timestamp) as first_seen, max(timestamp) as last_seen
    from (
      select try(json_extract_string(error, '/fingerprint')) as fingerprint, try(json_extract_string(error, '/type')) as type,
          try(json_extract_string(error, '/message')) as message, try(json_extract_string(error, '/frame')) as frame,
          timestamp, visitor_id, session_id, pathname
      from (
        select *
        from events
        union all
        select *
        from loose_reports
      ) as e
      where site_id = 1
        and timestamp >= timestamp '2026-10-24 22:00:00.000'
        and timestamp < timestamp '2026-10-26 12:00:00.000'
        and ((country is not null and country in ('US')))
        and kind = 'error'
        and error is not null
    ) t
    group by fingerprint
  ) g
) r
order by count desc nulls last, visitors desc nulls last, fingerprint nulls last
limit 10 offset 0;
