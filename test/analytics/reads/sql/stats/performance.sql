/* /api/stats/performance */
select value, hits, round(lcp_at[1], 6) as lcp_p50, round(lcp_at[2], 6) as lcp_p75, round(lcp_at[3], 6) as lcp_p95,
    lcp_samples, round(cls_at[1], 6) as cls_p50, round(cls_at[2], 6) as cls_p75, round(cls_at[3], 6) as cls_p95,
    cls_samples, round(inp_at[1], 6) as inp_p50, round(inp_at[2], 6) as inp_p75, round(inp_at[3], 6) as inp_p95,
    inp_samples, round(fcp_at[1], 6) as fcp_p50, round(fcp_at[2], 6) as fcp_p75, round(fcp_at[3], 6) as fcp_p95,
    fcp_samples, round(ttfb_at[1], 6) as ttfb_p50, round(ttfb_at[2], 6) as ttfb_p75, round(ttfb_at[3], 6) as ttfb_p95,
    ttfb_samples
from (
  select value, count(*) as hits, quantile_cont(lcp, [0.5, 0.75, 0.95]) as lcp_at, count(lcp) as lcp_samples,
      quantile_cont(cls, [0.5, 0.75, 0.95]) as cls_at, count(cls) as cls_samples, quantile_cont(inp, [0.5, 0.75, 0.95]) as inp_at,
      count(inp) as inp_samples, quantile_cont(fcp, [0.5, 0.75, 0.95]) as fcp_at, count(fcp) as fcp_samples,
      quantile_cont(ttfb, [0.5, 0.75, 0.95]) as ttfb_at, count(ttfb) as ttfb_samples
  from (
    select 0 as value, lcp, cls, inp, fcp, ttfb
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
      and (lcp is not null or cls is not null or inp is not null or fcp is not null or ttfb is not null)
  ) m
  group by value
) f;

/* /api/stats/performance */
select *, count(*) over () as total_rows
from (
  select value, count(*) as hits
  from (
    select pathname as value, lcp, cls, inp, fcp, ttfb
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
      and (lcp is not null or cls is not null or inp is not null or fcp is not null or ttfb is not null)
  ) m
  where true
  group by value
) r
order by hits desc nulls last, value nulls last
limit 10 offset 0;
