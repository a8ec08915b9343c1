import { z } from 'zod'
import { localDate } from '../../analytics/query/calendar.js'
import { UnusableSetting } from '../../base/errors.js'
import type { createDayFigures } from './day-figures.js'
import { decodeText, type ExportFile } from './files.js'
import { type ReadFile, startFile } from './read-file.js'

/**
 * GoatCounter's JSON export, since 2.7: `hit_stats.jsonl` has the views of each hour and path, `paths.jsonl` says which
 * paths are events. It has no visitors.
 */

const Path = z.object({ id: z.int(), event: z.boolean().default(false) })
const HitStat = z.object({ hour: z.iso.datetime(), path_id: z.int(), count: z.int().nonnegative() })

export const isHitStats = ({ name }: ExportFile): boolean => /(^|[/:])hit_stats\.jsonl$/.test(name)

/** Returns the ids of the paths that are events, of the `paths.jsonl` among the files. */
export async function readEventPaths(files: readonly ExportFile[]): Promise<ReadonlySet<number>> {
  const events = new Set<number>()
  for (const file of files.filter(({ name }) => /(^|[/:])paths\.jsonl$/.test(name)))
    for await (const line of readJsonLines(file)) {
      const { data } = Path.safeParse(line)
      if (data?.event) events.add(data.id)
    }
  return events
}

/** Adds the pageviews of each day in `tz`. Lines of events are skipped. */
export async function readHitStats(
  file: ExportFile,
  { days, tz, events }: { days: ReturnType<typeof createDayFigures>; tz: string; events: ReadonlySet<number> },
): Promise<ReadFile> {
  const read = startFile(file, { tool: 'goatcounter', title: 'GoatCounter, JSON export' }, 'hit_stats.jsonl')
  const pageviews = new Map<string, number>()
  for await (const line of readJsonLines(file)) {
    read.rows += 1
    const { data } = HitStat.safeParse(line)
    if (data === undefined) read.broken += 1
    else if (events.has(data.path_id)) read.skipped += 1
    else {
      const day = localDate(new Date(data.hour), tz)
      pageviews.set(day, (pageviews.get(day) ?? 0) + data.count)
    }
  }
  for (const [day, count] of pageviews) days.add(file.name, day, { pageviews: count })
  return read
}

const MAX_LINE_CHARS = 1_000_000

/** Reads the JSON value of each line, or undefined for a line that cannot be parsed. */
async function* readJsonLines(file: ExportFile): AsyncGenerator<unknown> {
  let rest = ''
  for await (const piece of decodeText(file)) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > MAX_LINE_CHARS)
      throw new UnusableSetting(`${file.name}: a line is longer than a million characters.`)
    for (const line of lines) if (line.trim() !== '') yield parse(line)
  }
  if (rest.trim() !== '') yield parse(rest)
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
