/* /api/blank-pages */
select *, count(*) over () as total_rows
from (
  with present as materialized (
    select hostname, pathname, last_seen, text_length, headings, links, lang, canonical, title,
        first_line, notice, living_seen, living_text_length, living_headings, living_links,
        living_line, agent_seen, agent_text_length, agent_headings, agent_links, agent_line,
        case when (hostname, pathname, agent_digest) in (
          select hostname, pathname, digest
          from page_samples
          where site_id = 1 and served_to <> 'agents'
        ) then 0 else agent_samples end as in_turn
    from page_samples
    where site_id = 1
      and true
      and first_seen < timestamp '2026-10-26 12:00:00.000'
      and (replaced_at is null or replaced_at >= timestamp '2026-10-26 12:00:00.000')
  ), asked as materialized (
    select hostname, pathname, sum(case when is_pageview then 1 else 0 end) as fetches, sum(case when method = 'GET' and status in (401, 402, 403, 451) and not (action is not null and action <> 'allow') then 1 else 0 end) as refusals
    from agent_events
    where site_id = 1
      and timestamp >= timestamp '2026-10-24 22:00:00.000'
      and timestamp < timestamp '2026-10-26 12:00:00.000'
      and not verification = 'spoofed'
      and coalesce(action, 'allow') = 'allow'
      and ((country is not null and country in ('US')))
    group by hostname, pathname
  )
  select *
  from (
    select *, case when text_length < 200 and case when living_text_length is null then text_length < 50 and headings = 0 else living_text_length >= 200 and living_text_length >= 5 * text_length end then 1 else 0 end as empty_shell,
        case when text_length >= 200 and living_text_length >= 2 * text_length and living_text_length - text_length >= 500 then 1 else 0 end as written_by_scripts,
        case when notice = 'not_found' then 1 else 0 end as not_found, case when notice = 'consent' then 1 else 0 end as consent,
        case when notice = 'challenge' then 1 else 0 end as challenge, case when in_turn >= 3 then 1 else 0 end as other_text,
        case when refusals > 0 and views > 0 then 1 else 0 end as agents_refused
    from (
      select u.hostname as hostname, u.pathname as pathname, last_seen, text_length, headings,
          links, lang, canonical, title, first_line, notice, living_seen, living_text_length,
          living_headings, living_links, living_line, agent_seen, agent_text_length, agent_headings,
          agent_links, agent_line, in_turn, coalesce(views, 0) as views, coalesce(readers, 0) as readers,
          coalesce(fetches, 0) as fetches, coalesce(refusals, 0) as refusals
      from (
        select distinct hostname, pathname
        from (
          select hostname, pathname
          from present
          union all
          select hostname, pathname
          from asked
          where refusals > 0
        ) b
      ) u
      left join present p on p.hostname = u.hostname
        and p.pathname = u.pathname
      left join (
        select hostname, pathname, count(*) as views, count(distinct case when timestamp = session_start and pathname = entry_page and channel in ('Organic Search', 'AI Assistants') then session_id end) as readers
        from events as e
        where site_id = 1
          and timestamp >= timestamp '2026-10-24 22:00:00.000'
          and timestamp < timestamp '2026-10-26 12:00:00.000'
          and kind = 'pageview'
          and (status is null or status < 400)
          and ((country is not null and country in ('US')))
        group by hostname, pathname
      ) v on v.hostname = u.hostname
        and v.pathname = u.pathname
      left join asked a on a.hostname = u.hostname
        and a.pathname = u.pathname
    ) j
  ) f
  where empty_shell + written_by_scripts + not_found + consent + challenge + other_text + agents_refused > 0
) r
order by empty_shell + written_by_scripts + consent + challenge + other_text + agents_refused = 0 nulls last,
    readers desc nulls last, views desc nulls last, fetches desc nulls last, hostname nulls last,
    pathname nulls last
limit 10 offset 0;
