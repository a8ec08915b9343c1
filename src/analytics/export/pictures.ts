import { z } from 'zod'
import type { ReadResponse } from '../query/prepare-read.js'
import type { Read } from '../query/read.js'
import { formatBucket, formatNumber, formatPercent } from './format.js'
import type { Flow, Grid } from './sheet.js'

const Journeys = z.object({
  nodes: z.array(
    z.object({
      id: z.string(),
      depth: z.number(),
      kind: z.enum(['page', 'other', 'exit']),
      pathname: z.string(),
      sessions: z.number(),
    }),
  ),
  links: z.array(z.object({ source: z.string(), target: z.string(), sessions: z.number() })),
})
const Retention = z.object({
  granularity: z.enum(['day', 'week', 'month']),
  cohorts: z.array(
    z.object({
      start: z.string(),
      size: z.number().optional(),
      periods: z.array(z.object({ period: z.number(), rate: z.number().optional() })),
    }),
  ),
})

/** The picture that stands for a response's tables. Journeys are a flow, retention is a grid; any other read has none. Nor have agents. */
export function createPictures(
  { path }: Pick<Read, 'path'>,
  { data }: Pick<ReadResponse, 'data'>,
  tz: string,
): { flows: Flow[]; grids: Grid[] } {
  if (path === '/api/stats/journeys') {
    const journeys = Journeys.safeParse(data).data
    if (!journeys) return { flows: [], grids: [] }
    const { nodes, links } = journeys
    const names = { page: undefined, other: 'other pages', exit: 'left the site' }
    return {
      flows: [
        {
          title: 'Journeys',
          nodes: nodes.map(({ id, depth, kind, pathname, sessions }) => {
            const name = names[kind] ?? pathname
            return { id, step: depth, name, count: formatNumber(sessions), sessions, isPage: kind === 'page' }
          }),
          links,
        },
      ],
      grids: [],
    }
  }
  const retention = path === '/api/stats/retention' ? Retention.safeParse(data).data : undefined
  if (!retention) return { flows: [], grids: [] }
  const { granularity, cohorts } = retention
  const label = (start: string) => formatBucket(new Date(start), tz, granularity)
  // Cohorts before the first visitor are one line, not a run of empty rows.
  const first = cohorts.findIndex(({ size = 0 }) => size > 0)
  const kept = first < 0 ? [] : cohorts.slice(first)
  const empty =
    first < 0
      ? 'no new people in this window'
      : first === 0
        ? undefined
        : `${cohorts[0]?.size === undefined ? 'no data' : 'no new people'} until ${label(kept[0]?.start ?? '')}`
  return {
    flows: [],
    grids: [
      {
        title: `Share of new people who came back, by ${granularity}s since their first visit`,
        ...(empty === undefined ? {} : { remark: empty }),
        columns: kept[0]?.periods.map(({ period }) => String(period)) ?? [],
        rows: kept.map(({ start, size, periods }) => ({
          name: label(start),
          count: size === undefined ? '' : formatNumber(size),
          cells: periods.map(({ rate }) =>
            rate === undefined ? undefined : { share: rate, text: formatPercent(rate) },
          ),
        })),
      },
    ],
  }
}
