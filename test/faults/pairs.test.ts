import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { REPORT_NAMES } from '../../src/analytics/export/report-names.js'
import { compareFiles } from '../../src/storage/duckdb/binding.js'
import { openEvents } from '../../src/storage/duckdb/event-store.js'
import { openRecords } from '../../src/storage/duckdb/records.js'
import { sql } from '../../src/storage/sql.js'
import { directory } from '../fixtures/files.js'
import { openInProcessEngine } from '../fixtures/in-process-worker.js'
import { seeded } from '../fixtures/random.js'
import { storeOptions } from '../fixtures/store.js'
import {
  type DrawnFile,
  drawFile,
  liveThrough,
  openPair,
  type Pair,
  type Snapshot,
  writeFiles,
} from '../fixtures/store-pairs.js'

/*
 * The attack: control.duckdb says whose a site is, events.duckdb has its rows by the number of the site. After a loss one of
 * the two is missing, damaged, an older copy or of another instance, and a client registers, makes a site and reads. The
 * attack succeeds if any read returns a row of a site that its caller does not own.
 *
 * The seed is in the name of the test; PAIRS_SEED draws other pairs.
 */

const SEED = Number(process.env.PAIRS_SEED ?? 4_476)
/** `PAIRS=1000` compares more. */
const PAIRS = Number(process.env.PAIRS ?? 90)
/** Files of each kind, each in a state of its own; any two make a pair. */
const FILES = 40
/** So many pairs are also served and read through the API, every fourth as a whole instance with all its routes. */
const SERVED_PAIRS = Math.max(8, Math.round(PAIRS / 15))

const random = seeded(SEED)
const WINDOW = 'start=2026-11-20T00:00:00Z&end=2026-11-22T10:00:00Z'
const LISTS: [(site: number) => string, (site: number) => string] = [
  (site: number) => `/api/stats/breakdown?site=${site}&${WINDOW}&dimension=path`,
  (site: number) => `/api/agents/breakdown?site=${site}&${WINDOW}&dimension=path&audience=agent`,
]
const drawList = (site: number): string => random.of(LISTS)(site)
/** A read of any kind, as JSON or CSV. */
function drawRead(site: number): string {
  const report = REPORT_NAMES[random.int(REPORT_NAMES.length)] ?? 'overview'
  const path = report.replace(/\{\w+\}/, '1')
  if (random() < 0.3) return `/api/stats/export.csv?report=${path}&site=${site}&${WINDOW}`
  const prefix = /^(agents|policy|citation-gap|answers|content)\b/.test(path) ? '/api/' : '/api/stats/'
  return `${prefix}${path}?site=${site}&${WINDOW}`
}

/** Names of the owners whose rows a text shows. */
const ownersIn = (text: string): Set<string> =>
  new Set([...text.matchAll(/own-([A-Z][a-z0-9]+)/g)].map(([, name = '']) => name))

const Status = z.object({ state: z.string(), reason: z.string().optional() })
const Store = z.object({
  losses: z.array(z.object({ kind: z.string() })),
  old_sites: z.array(z.object({ site: z.int(), hostname: z.string() })),
})

/** The owners whose rows a site of each name may show: its own, and those whose rows the operator gave it. */
type Allowed = Map<string, Set<string>>

/** Reads as the operator and with a key; returns the leaks, and the owners of all rows that were seen. */
async function readAll(pair: Pair, snapshots: readonly Snapshot[], allowed: Allowed, whole: boolean) {
  const leaks: string[] = []
  const seen = new Set<string>()
  const check = (who: string, path: string, text: string, mine: ReadonlySet<string>) => {
    for (const owner of ownersIn(text)) {
      seen.add(owner)
      if (!mine.has(owner)) leaks.push(`${who} sees rows of ${owner}: ${path}`)
    }
  }
  const sites = await pair.sites()
  const ofSite = (name: string) => new Set([name, ...(allowed.get(name) ?? [])])
  const some = <T>(list: readonly T[]): T[] => (whole ? [...list] : list.slice(random.int(list.length)).slice(0, 1))
  for (const { id, name } of some(sites))
    for (const path of whole ? [...LISTS.map((list) => list(id)), drawRead(id)] : [drawList(id)])
      check(`site ${name}`, path, (await pair.ask('operator', 'GET', path)).text, ofSite(name))
  // A key of the owner of some site, on the numbers that sites had.
  const keys = [...new Map(snapshots.flatMap((snapshot) => [...snapshot.keys]))]
  const [owner, key] = keys[random.int(keys.length)] ?? []
  if (owner !== undefined && key !== undefined)
    for (const id of some([1, 2, 3, 4, 5, 6]))
      for (const path of whole ? [drawList(id), drawRead(id)] : [drawList(id)])
        check(`the key of ${owner}`, path, (await pair.ask(key, 'GET', path)).text, ofSite(owner))
  // Every row that is left to some site.
  const { text } = await pair.ask('operator', 'GET', '/control/tail?n=1000&follow=0')
  for (const line of text.split('\n').filter((line) => line !== '')) {
    const { site_id } = z.object({ site_id: z.int() }).parse(JSON.parse(line))
    const site = sites.find(({ id }) => id === site_id)
    check(`tail of site ${site?.name}`, 'tail', line, site ? ofSite(site.name) : new Set())
  }
  return { leaks, seen }
}

/** A new tenant gets a number that no row has, and sees nothing. */
async function intrude(pair: Pair, name: string, whole: boolean): Promise<string[]> {
  const { id, key } = whole ? await pair.newTenant(name) : { ...(await pair.newSite(name)), key: 'operator' }
  const leaks: string[] = []
  for (const path of whole ? [...LISTS.map((list) => list(id)), drawRead(id)] : LISTS.map((list) => list(id)))
    for (const owner of ownersIn((await pair.ask(key, 'GET', path)).text))
      leaks.push(`the new tenant of site ${id} sees rows of ${owner}: ${path}`)
  return leaks
}

const totals: Record<string, number> = {}
const count = (what: string) => {
  totals[what] = (totals[what] ?? 0) + 1
}

/** Lets the operator decide in some of the pairs; returns whether that was so. */
async function decide(pair: Pair, degraded: boolean, allowed: Allowed): Promise<boolean> {
  const draw = random()
  if (!degraded || draw > 0.2) return false
  const status = () => pair.dataOf(Store, 'GET', '/control/store')
  if (draw < 0.1) {
    await pair.dataOf(z.unknown(), 'POST', '/control/store/accept', { delete_old_rows: true })
    if ((await status()).losses.length > 0) throw new Error('a loss is there after it was accepted')
    count('accepted')
    return true
  }
  const [old] = (await status()).old_sites
  const [site] = await pair.sites()
  if (!old || !site) return false
  await pair.dataOf(z.unknown(), 'POST', '/control/store/assign', { from: old.site, to: site.id })
  allowed.set(site.name, ownersIn(old.hostname))
  count('rows were assigned')
  return true
}

/** Opens the records of a pair, with the sites in them; undefined if a block is damaged that every start needs. */
async function openDrawnRecords(t: Test, data: string, drawn: DrawnFile) {
  mkdirSync(data)
  writeFiles(data, drawn.stored ? { 'control.duckdb': drawn.stored } : {})
  try {
    const store = await openRecords(storeOptions(join(data, 'control.duckdb')).options)
    t.teardown(() => store.close())
    return { drawn, store, sites: z.array(SiteRow).parse(await store.query(sql`select id, name from sites`)) }
  } catch {
    count('cannot be opened')
    return undefined
  }
}

/** Opens the events of a pair, with the sites and paths of their rows. */
async function openDrawnEvents(t: Test, data: string, drawn: DrawnFile) {
  mkdirSync(data)
  writeFiles(data, drawn.stored ? { 'events.duckdb': drawn.stored } : {})
  try {
    const store = await openEvents(storeOptions(join(data, 'events.duckdb')).options)
    t.teardown(() => store.close())
    const rows = await store.query(sql`select distinct site_id, pathname from (
      select site_id, pathname from events union all select site_id, pathname from agent_events) r`)
    return { drawn, store, rows: z.array(EventOwner).parse(rows) }
  } catch {
    count('cannot be opened')
    return undefined
  }
}
const SiteRow = z.object({ id: z.int(), name: z.string() })
const EventOwner = z.object({ site_id: z.int(), pathname: z.string() })
type DrawnRecords = NonNullable<Awaited<ReturnType<typeof openDrawnRecords>>>
type DrawnEvents = NonNullable<Awaited<ReturnType<typeof openDrawnEvents>>>

/** Compares two files as a start does, and looks at the rows that each site has then. Returns the faults. */
async function comparePair(records: DrawnRecords, events: DrawnEvents): Promise<string[]> {
  const { loss, recordsLastSite, eventsLastSite } = await compareFiles(records.store, events.store)
  count(loss ?? 'together')
  // Foreign events are set aside.
  const rows = loss === 'events_foreign' ? [] : events.rows
  const faults = rows.flatMap(({ site_id, pathname }) => {
    if (site_id > Math.max(recordsLastSite, eventsLastSite)) return [`the next site may get ${site_id}, which has rows`]
    const site = records.sites.find(({ id }) => id === site_id)
    return site && pathname !== `/own-${site.name}` ? [`site ${site.name} has rows of ${pathname}`] : []
  })
  if (rows.some(({ site_id }) => records.sites.some(({ id }) => id === site_id))) count('sites have rows')
  return [...faults, ...wrongState(records.drawn, events.drawn, loss !== undefined)]
}

/** Files of one moment belong together; a missing, older or foreign file is found. */
function wrongState(control: DrawnFile, events: DrawnFile, degraded: boolean): string[] {
  const intact = control.what === 'whole' && events.what === 'whole'
  if (intact && control.from === events.from && degraded) return ['files of one moment are degraded']
  const lost = [control, events].some(({ stored }) => !stored) && [control, events].some(({ what }) => what === 'whole')
  const foreign = intact && !sameMoment(control.from, events.from)
  return (lost || foreign) && !degraded ? ['the loss was not found'] : []
}

/** Opens them, reads, and lets the operator decide; returns what went wrong. */
async function tryPair(data: string, control: DrawnFile, events: DrawnFile, whole: boolean): Promise<string[]> {
  const snapshots = [control.from, events.from]
  const allowed: Allowed = new Map()
  const faults: string[] = []
  let pair = await openPair(data, { whole })
  try {
    const { status, text } = await pair.ask('anyone', 'GET', '/readyz')
    const { state } = z.object({ data: Status }).parse(JSON.parse(text)).data
    count(state)
    faults.push(...wrongState(control, events, state === 'degraded'))
    if (state === 'degraded') {
      if (status !== 503) faults.push(`degraded with status ${status}`)
      const registered = whole
        ? await pair.ask('anyone', 'POST', '/api/auth/register', REGISTRATION)
        : { status: 403, text: '' }
      if (registered.status !== 403) faults.push(`registration is open: ${registered.status} ${registered.text}`)
    }
    const { leaks, seen } = await readAll(pair, snapshots, allowed, whole)
    faults.push(...leaks, ...(await intrude(pair, 'Xintruder', whole)))
    if (
      control.what === 'whole' &&
      events.what === 'whole' &&
      control.from === events.from &&
      events.from.keys.size + 1 !== seen.size
    )
      faults.push(`rows of ${[...seen].join()} are seen, of ${events.from.keys.size + 1} sites`)
    if (seen.size > 0) count('rows were seen')
    if (await decide(pair, state === 'degraded', allowed)) {
      const again = await readAll(pair, snapshots, allowed, whole)
      faults.push(...again.leaks, ...(await intrude(pair, 'Yintruder', whole)))
    } else if (random() < 0.1) {
      await pair.close()
      pair = await openPair(data, { whole })
      faults.push(...(await readAll(pair, snapshots, allowed, whole)).leaks)
    }
  } finally {
    await pair.close()
  }
  return faults
}

const REGISTRATION = { email: 'x@x.example', name: 'X', organisation: 'X', password: 'slack water at noon' }
/** A snapshot with its log and the one after it have the same openings. */
const sameMoment = (a: Snapshot, b: Snapshot) => a.label.slice(0, 2) === b.label.slice(0, 2)

/** The events of a pair: half of them of the records' instance, or nearly all would be foreign. */
function drawEvents(snapshots: readonly Snapshot[], control: DrawnFile): DrawnFile {
  const near = random() < 0.5 ? snapshots.filter(({ label }) => label[0] === control.from.label[0]) : snapshots
  return drawFile(random, near, 'events.duckdb')
}
const describe = (control: DrawnFile, events: DrawnFile): string =>
  `control ${control.from.label} ${control.what}, events ${events.from.label} ${events.what}`

/** Faults of a pair that failed. A damaged block fails when it is read, and its rows are not returned. */
function unexpected(what: string, error: unknown): string[] {
  if (!/overwritten|cut|damaged|log/.test(what) || !/database_error|ApiError/.test(String(error)))
    return [`failed: ${error}`]
  count('fails')
  return []
}

t.test(`pairs of files, seed ${SEED}: no row reaches a site that it does not belong to`, async (t) => {
  const root = directory(t)
  const snapshots = await liveThrough(root)

  await t.test(`${PAIRS} pairs are compared`, async (t) => {
    const records: DrawnRecords[] = []
    const events: DrawnEvents[] = []
    for (let n = 0; n < FILES; n++) {
      const control = drawFile(random, snapshots, 'control.duckdb')
      const opened = await openDrawnRecords(t, join(root, `records-${n}`), control)
      if (opened) records.push(opened)
      const other = await openDrawnEvents(t, join(root, `events-${n}`), drawEvents(snapshots, control))
      if (other) events.push(other)
    }
    for (let n = 0; n < PAIRS; n++) {
      const [control, stored] = [records[random.int(records.length)], events[random.int(events.length)]]
      if (!control || !stored) throw new Error('no file could be opened')
      const what = describe(control.drawn, stored.drawn)
      const faults = await comparePair(control, stored).catch((error: unknown) => unexpected(what, error))
      if (faults.length > 0) t.fail(what, { faults })
    }
    t.ok((totals['sites have rows'] ?? 0) > PAIRS / 20, 'sites have rows that could be of others')
    for (const what of ['together', 'records_lost', 'events_lost', 'events_foreign'])
      t.ok((totals[what] ?? 0) > 0, `some are ${what.replace('_', ' ')}`)
    t.equal(totals['cannot be opened'], undefined, 'a damaged file is set aside, and never refused')
    t.comment(JSON.stringify(totals))
  })

  await t.test('what was read of the sitemaps of lost sites is deleted', async (t) => {
    const data = join(root, 'sitemaps')
    mkdirSync(data)
    const stored = snapshots.find(({ label }) => label === 'A2')?.files['events.duckdb']
    writeFiles(data, stored ? { 'events.duckdb': stored } : {})
    const before = await openEvents(storeOptions(join(data, 'events.duckdb')).options)
    await before.updateRows(async () => [sql`insert into sitemap_urls values ('own-A2.example', '/plan', null)`])
    await before.close()
    const { workerClient } = await openInProcessEngine(data)
    t.teardown(() => workerClient.close())
    t.strictSame(
      await workerClient.events.query(sql`select * from sitemap_urls`),
      [],
      'a new tenant may name the hostname',
    )
  })

  await t.test(`${SERVED_PAIRS} pairs are served and read`, async (t) => {
    for (let n = 0; n < SERVED_PAIRS; n++) {
      const data = join(root, `pair-${n}`)
      const control = drawFile(random, snapshots, 'control.duckdb')
      const events = drawEvents(snapshots, control)
      mkdirSync(data)
      writeFiles(data, {
        ...(control.stored && { 'control.duckdb': control.stored }),
        ...(events.stored && { 'events.duckdb': events.stored }),
      })
      const what = describe(control, events)
      const faults = await tryPair(data, control, events, n % 4 === 0).catch((error: unknown) =>
        unexpected(what, error),
      )
      if (faults.length > 0) t.fail(what, { faults })
      rmSync(data, { recursive: true, force: true })
    }
    t.ok((totals['rows were seen'] ?? 0) > 0, 'rows were there to be seen')
    t.comment(JSON.stringify(totals))
  })
})
