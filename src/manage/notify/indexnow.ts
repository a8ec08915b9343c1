import { z } from 'zod'
import { NOT_SPOOFED } from '../../analytics/query/metrics.js'
import type { Post } from '../../base/outbound/guarded-outbound.js'
import { DAY_MS, MINUTE_MS } from '../../base/time-units.js'
import { isExcludedPath } from '../../capture/excluded-paths.js'
import { withoutWww } from '../../capture/site.js'
import { isIn, raw, type Sql, sql } from '../../storage/sql.js'
import type { Records, Store } from '../../storage/store.js'
import type { ManagedSite, Sites } from '../sites.js'
import { type AttemptResult, type Notice, noticeStatements } from './notices.js'
import { postJson } from './webhook.js'

interface IndexNowDeps {
  records: Records
  store: () => Pick<Store, 'query'>
  sites: Pick<Sites, 'list'>
  /** The URL that gets the pings; undefined if none may be sent. */
  indexnow_url: string | undefined
  now(): Date
  wakeDelivery(): void
}

/** A site has a ping at most once in this time, and none while one of its pings waits for another attempt. */
const PING_INTERVAL_MS = 10 * MINUTE_MS
/** Changes that could not be announced for so long are not announced any more. */
const LOOK_BACK_MS = DAY_MS
/** A page that no search engine read for so long may be one that only those who have its address should find. */
const CRAWLED_MS = 90 * DAY_MS
/** The protocol's bound of one request. */
const MAX_URLS = 10_000

const ChangedPage = z.object({ hostname: z.string(), pathname: z.string(), first_seen: z.date() })
type ChangedPage = z.infer<typeof ChangedPage>
const Announced = z.object({ cause: z.string(), happened_at: z.date() })
const Ping = z.object({ host: z.string(), urlList: z.array(z.string()) })

const causeOf = ({ hostname, pathname }: ChangedPage) => `indexnow:${hostname}${pathname}`

/**
 * Selects the changed pages of a site. A change counts once two samples had the new text or the one before: a page that has
 * another text each time has neither. A text that only agents get is not the page's, and no page is announced that search
 * engines do not read already.
 */
const changedPages = (site: number, since: Date, crawledSince: Date): Sql => sql`
  select hostname, pathname, first_seen from page_samples
  where site_id = ${site} and replaced_at is null and prior_seen is not null and not varies and first_seen >= ${since}
    and served_to <> 'agents' and (hostname, pathname) in (
      select hostname, pathname from agent_events
      where site_id = ${site} and timestamp >= ${crawledSince} and purpose = 'search' and status < 400 and ${NOT_SPOOFED})
    and (samples >= 2 or (hostname, pathname, first_seen) in (
      select hostname, pathname, replaced_at from page_samples
      where site_id = ${site} and replaced_at is not null and samples >= 2))
  order by first_seen, hostname, pathname limit ${MAX_URLS}`

/** Queues one ping for each host with changed pages, of the sites that have a key. Call it each minute. */
export function createIndexNow({ records, store, sites, indexnow_url: target, now, wakeDelivery }: IndexNowDeps) {
  /** Returns the pages whose present text was not announced. */
  const findPages = async (site: ManagedSite, at: number): Promise<ChangedPage[]> => {
    const { id } = site
    const hosts = new Set(site.domains.map(withoutWww))
    const found = changedPages(id, new Date(at - LOOK_BACK_MS), new Date(at - CRAWLED_MS))
    const pages = (await store().query(found))
      .map((row) => ChangedPage.parse(row))
      .filter(({ hostname, pathname }) => hosts.has(withoutWww(hostname)) && !isExcludedPath(site, pathname))
    if (pages.length === 0) return []
    const rows = await records.query(
      sql`select cause, happened_at from annotation_causes where site = ${id} and ${isIn(raw('cause'), pages.map(causeOf))}`,
    )
    const announced = new Map(
      rows.map((row) => Announced.parse(row)).map(({ cause, happened_at: at }) => [cause, at.getTime()]),
    )
    return pages.filter((page) => page.first_seen.getTime() > (announced.get(causeOf(page)) ?? 0))
  }
  const queue = async (url: string, { id }: ManagedSite, pages: readonly ChangedPage[]) => {
    const notices = [...new Set(pages.map(({ hostname }) => hostname))].flatMap((host) => {
      const changed = pages.filter(({ hostname }) => hostname === host)
      const urlList = changed.map(({ pathname }) => new URL(`https://${host}${pathname}`).href)
      const key = `indexnow:${id}:${host}:${now().toISOString()}`
      const channel = { type: 'webhook' as const, target: url }
      return noticeStatements({ key, site: id, source: { site: id }, channel, payload: { host, urlList } }, now())
    })
    await records.write(
      ...notices,
      sql`delete from annotation_causes where site = ${id} and ${isIn(raw('cause'), pages.map(causeOf))}`,
      ...pages.map((page) => sql`insert into annotation_causes values (${id}, ${causeOf(page)}, ${page.first_seen})`),
    )
    wakeDelivery()
  }
  return {
    async tick(): Promise<void> {
      const withKey = (await sites.list()).filter(({ indexnow_key: key }) => key !== undefined)
      if (target === undefined || withKey.length === 0) return
      const at = now().getTime()
      const rows = await records.query(sql`
        select distinct site from notices where alert is null and report is null
          and (state in ('waiting', 'sending') or created_at > ${new Date(at - PING_INTERVAL_MS)})`)
      const busy = new Set(rows.map((row) => row.site))
      for (const site of withKey) {
        const pages = busy.has(site.id) ? [] : await findPages(site, at)
        if (pages.length > 0) await queue(target, site, pages)
      }
    },
  }
}

interface PingDeps {
  sites: Pick<Sites, 'list'>
  indexnow_url: string | undefined
  post: Post
  now(): Date
  log: { warn(details: object, message: string): void }
}

/** Makes one attempt to deliver a ping, with the key that the site has by now. */
export async function sendPing({ site: id, channel, payload }: Notice, deps: PingDeps): Promise<AttemptResult> {
  const { indexnow_key: key, indexnow_key_location: location } =
    (await deps.sites.list()).find((site) => site.id === id) ?? {}
  if (key === undefined || deps.indexnow_url === undefined) return ended('IndexNow is off')
  const { host, urlList: changed } = Ping.parse(payload)
  const isHere = location !== undefined && new URL(location).hostname === host
  const keyLocation = isHere ? location : `https://${host}/${key}.txt`
  const urlList = changed.filter((url) => url.startsWith(new URL('.', keyLocation).href))
  if (urlList.length === 0) return ended('the file of the key stands below another folder than the changed pages')
  const body = JSON.stringify({ host, key, keyLocation, urlList })
  // 403: the file of the key is not there yet.
  const isFinal = (status: number) => status >= 400 && status < 500 && status !== 403 && status !== 429
  const result = await postJson({ url: channel.target, body, isFinal }, deps)
  if (!result.delivered)
    deps.log.warn({ site: id, host, urls: urlList.length, error: result.error }, 'an IndexNow ping was not accepted')
  return result
}

const ended = (error: string): AttemptResult => ({ delivered: false, error, permanent: true })
