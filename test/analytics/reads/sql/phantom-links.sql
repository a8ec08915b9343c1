/* /api/phantom-links */
select *, count(*) over () as total_rows
from (
  with asked as materialized (
    select hostname, pathname, visitor_id, timestamp, case when ((country is not null and country in ('US'))) then 1 else 0 end as passes
    from (
      select *
      from events
      where kind = 'pageview'
        and status in (404, 410)
      union all
      select *
      from loose_reports
      where kind = 'missing_page'
    ) as e
    where site_id = 1
      and timestamp >= timestamp '2026-10-24 22:00:00.000'
      and timestamp < timestamp '2026-10-26 12:00:00.000'
      and status in (404, 410)
      and not regexp_matches(pathname, '(?i)^/(?:wp-|wordpress|xmlrpc|phpmyadmin|pma/|cgi-bin/|vendor/|\.|actuator|boaform|owa/|hnap1|solr/|telescope|_ignition|server-status)|\.(?:php\d?|aspx?|jspx?|cgi|env|sql|bak|old|ini|log|ya?ml|swp|git)$|/\.(?:git|env|svn|aws|ssh)')
  )
  select *
  from (
    select hostname, pathname, sum(requests) as requests, sum(readers) as readers, sum(lost) as lost,
        sum(fetches) as fetches
    from (
      select hostname, pathname, count(*) as requests, count(distinct visitor_id) as readers,
          count(distinct case when lost = 1 then visitor_id end) as lost, 0 as fetches
      from (
        select hostname, pathname, visitor_id, timestamp, case when epoch_ms(next) - epoch_ms(timestamp) between 0 and 1800000 then 0 else 1 end as lost
        from (
          select *, lead(timestamp) over (partition by visitor_id order by timestamp, other, hostname, pathname) as next
          from (
            select hostname, pathname, visitor_id, timestamp, passes, 0 as other
            from asked
            union all
            select hostname, pathname, visitor_id, timestamp, 0 as passes, 1 as other
            from events
            where site_id = 1
              and timestamp >= timestamp '2026-10-24 22:00:00.000'
              and timestamp < timestamp '2026-10-26 12:30:00.000'
              and kind = 'pageview'
              and (status is null or not status in (404, 410))
              and visitor_id in (
                select visitor_id
                from asked
              )
          ) v
        ) w
        where passes = 1
      ) l
      group by hostname, pathname
      union all
      select hostname, pathname, 0 as requests, 0 as readers, 0 as lost, count(*) as fetches
      from (
        select hostname, pathname
        from agent_events
        where site_id = 1
          and timestamp >= timestamp '2026-10-24 22:00:00.000'
          and timestamp < timestamp '2026-10-26 12:00:00.000'
          and purpose = 'assistant'
          and status in (404, 410)
          and not verification = 'spoofed'
          and coalesce(action, 'allow') = 'allow'
          and ((country is not null and country in ('US')))
          and not regexp_matches(pathname, '(?i)^/(?:wp-|wordpress|xmlrpc|phpmyadmin|pma/|cgi-bin/|vendor/|\.|actuator|boaform|owa/|hnap1|solr/|telescope|_ignition|server-status)|\.(?:php\d?|aspx?|jspx?|cgi|env|sql|bak|old|ini|log|ya?ml|swp|git)$|/\.(?:git|env|svn|aws|ssh)')
      ) f
      group by hostname, pathname
    ) u
    group by hostname, pathname
  ) p
  where requests + fetches > 0
) r
order by lost desc nulls last, requests desc nulls last, fetches desc nulls last, hostname nulls last,
    pathname nulls last
limit 10 offset 0;

/* /api/phantom-links */
select coalesce(sum(requests), 0) + coalesce(sum(fetches), 0) as n
from (
  with asked as materialized (
    select hostname, pathname, visitor_id, timestamp, case when ((country is not null and country in ('US'))) then 1 else 0 end as passes
    from (
      select *
      from events
      where kind = 'pageview'
        and status in (404, 410)
      union all
      select *
      from loose_reports
      where kind = 'missing_page'
    ) as e
    where site_id = 1
      and timestamp >= timestamp '2026-10-24 22:00:00.000'
      and timestamp < timestamp '2026-10-26 12:00:00.000'
      and status in (404, 410)
      and regexp_matches(pathname, '(?i)^/(?:wp-|wordpress|xmlrpc|phpmyadmin|pma/|cgi-bin/|vendor/|\.|actuator|boaform|owa/|hnap1|solr/|telescope|_ignition|server-status)|\.(?:php\d?|aspx?|jspx?|cgi|env|sql|bak|old|ini|log|ya?ml|swp|git)$|/\.(?:git|env|svn|aws|ssh)')
  )
  select *
  from (
    select hostname, pathname, sum(requests) as requests, sum(readers) as readers, sum(lost) as lost,
        sum(fetches) as fetches
    from (
      select hostname, pathname, count(*) as requests, count(distinct visitor_id) as readers,
          count(distinct case when lost = 1 then visitor_id end) as lost, 0 as fetches
      from (
        select hostname, pathname, visitor_id, timestamp, case when epoch_ms(next) - epoch_ms(timestamp) between 0 and 1800000 then 0 else 1 end as lost
        from (
          select *, lead(timestamp) over (partition by visitor_id order by timestamp, other, hostname, pathname) as next
          from (
            select hostname, pathname, visitor_id, timestamp, passes, 0 as other
            from asked
            union all
            select hostname, pathname, visitor_id, timestamp, 0 as passes, 1 as other
            from events
            where site_id = 1
              and timestamp >= timestamp '2026-10-24 22:00:00.000'
              and timestamp < timestamp '2026-10-26 12:30:00.000'
              and kind = 'pageview'
              and (status is null or not status in (404, 410))
              and visitor_id in (
                select visitor_id
                from asked
              )
          ) v
        ) w
        where passes = 1
      ) l
      group by hostname, pathname
      union all
      select hostname, pathname, 0 as requests, 0 as readers, 0 as lost, count(*) as fetches
      from (
        select hostname, pathname
        from agent_events
        where site_id = 1
          and timestamp >= timestamp '2026-10-24 22:00:00.000'
          and timestamp < timestamp '2026-10-26 12:00:00.000'
          and purpose = 'assistant'
          and status in (404, 410)
          and not verification = 'spoofed'
          and coalesce(action, 'allow') = 'allow'
          and ((country is not null and country in ('US')))
          and regexp_matches(pathname, '(?i)^/(?:wp-|wordpress|xmlrpc|phpmyadmin|pma/|cgi-bin/|vendor/|\.|actuator|boaform|owa/|hnap1|solr/|telescope|_ignition|server-status)|\.(?:php\d?|aspx?|jspx?|cgi|env|sql|bak|old|ini|log|ya?ml|swp|git)$|/\.(?:git|env|svn|aws|ssh)')
      ) f
      group by hostname, pathname
    ) u
    group by hostname, pathname
  ) p
  where requests + fetches > 0
) p;
