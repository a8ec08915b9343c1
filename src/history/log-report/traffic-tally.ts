import { memoize } from '../../base/cache.js'
import { createDeviceReader } from '../../capture/device.js'
import { withoutWww } from '../../capture/site.js'
import type { Referrer } from '../../capture/sources/referrer.js'
import type { Source } from '../../capture/sources/source.js'
import type { LogEntry } from '../access-logs/log-format.js'
import type { LogReport } from './report.js'
import { createTopCounter } from './top-counter.js'

/** A referrer as it was read from the header, with the source that it is. */
export interface ReadReferrer {
  readonly referrer: Referrer | undefined
  readonly source: Source | undefined
}

interface TrafficOptions {
  /** Returns the ISO code of the country of an address; absent: countries are not counted. */
  locate?: ((address: string) => string | undefined) | undefined
  /** Lists the addresses with most requests, which identify people. */
  addresses?: boolean | undefined
  /** The site's hostname, if the operator named it: what refers from there is no source. */
  host?: string | undefined
  readReferrer(header: string): ReadReferrer
}

const MAX_NAMES = 50_000
const MAX_CACHED_ADDRESSES = 65_536
const LIST_LENGTH = 100
const createCounter = () => createTopCounter(MAX_NAMES, () => ({ count: 0 }))

/** Creates the counts of a log that are about the server and its visitors: who asked from where, and what was returned. */
export function createTrafficTally({ locate, addresses: lists, host, readReferrer }: TrafficOptions) {
  const statuses = new Map<number, { people: number; agents: number }>()
  const hosts = createTopCounter(MAX_NAMES, () => ({ count: 0, people: 0 }))
  const addresses = createTopCounter(MAX_NAMES, () => ({ count: 0, people: 0, bytes: 0 }))
  const errors = createCounter()
  const referrers = createTopCounter(MAX_NAMES, () => ({ count: 0, host: '' }))
  /** Hosts whose pages loaded the site's assets: the first is the site itself, where the log has no hostnames. */
  const embedders = createCounter()
  const [browsers, systems, countries] = [createCounter(), createCounter(), createCounter()]
  const readDevice = createDeviceReader()
  const countryOf = locate && memoize(MAX_CACHED_ADDRESSES, (address) => ({ code: locate(address) }))

  const isOwn = (from: string, own: string | undefined) => own !== undefined && withoutWww(own) === from

  return {
    /** Adds a response to a reader that is known to be a person or an agent. */
    addResponse({ status, host: asked, address, bytes = 0 }: LogEntry, pathname: string, isAgent: boolean): void {
      const counted = statuses.get(status) ?? { people: 0, agents: 0 }
      statuses.set(status, counted)
      counted[isAgent ? 'agents' : 'people']++
      if (!isAgent && status >= 400) errors.add(`${status} ${pathname}`)
      if (asked !== undefined) hosts.add(asked).people += isAgent ? 0 : 1
      if (lists !== true || address === '') return
      const client = addresses.add(address)
      client.people += isAgent ? 0 : 1
      client.bytes += bytes
    },
    /** Adds a request of a person for an asset: its referrer is the page that loads it. */
    addAsset({ referrer }: LogEntry): void {
      const from = referrer === '' ? undefined : readReferrer(referrer).referrer?.host
      if (from !== undefined) embedders.add(from)
    },
    /** Adds a pageview of a person. */
    addPageview({ referrer, userAgent, requestHeaders, address, host: asked }: LogEntry): void {
      const { browser, os } = readDevice(userAgent, requestHeaders)
      browsers.add(browser ?? UNKNOWN)
      systems.add(os ?? UNKNOWN)
      if (countryOf) countries.add(countryOf(address).code ?? UNKNOWN)
      const { referrer: from, source } = referrer === '' ? NO_REFERRER : readReferrer(referrer)
      if (from === undefined || source === undefined || isOwn(from.host, asked) || isOwn(from.host, host)) return
      referrers.add(source.name).host = from.host
    },
    isComplete: () => [hosts, addresses, errors, referrers].every(({ isComplete }) => isComplete),
    finish() {
      const [siteHost] = embedders.top(1)[0] ?? []
      const pageviews = ([name, { count }]: [string, { count: number }]) => ({ name, pageviews: count })
      return {
        statuses: Array.from(statuses, ([status, counts]) => ({ status, ...counts })).sort(
          (a, b) => a.status - b.status,
        ),
        people_errors: errors.top(LIST_LENGTH).map(([text, { count }]) => {
          const space = text.indexOf(' ')
          return { status: Number(text.slice(0, space)), pathname: text.slice(space + 1), requests: count }
        }),
        hosts: hosts.top(LIST_LENGTH).map(([hostname, { count, people }]) => ({
          hostname,
          people,
          agents: count - people,
        })),
        referrers: referrers
          .top(LIST_LENGTH + 1)
          .filter(([, { host: from }]) => from !== siteHost)
          .slice(0, LIST_LENGTH)
          .map(pageviews),
        browsers: browsers.top(LIST_LENGTH).map(pageviews),
        systems: systems.top(LIST_LENGTH).map(pageviews),
        ...(countryOf && { countries: countries.top(LIST_LENGTH).map(pageviews) }),
        ...(lists && {
          addresses: addresses.top(LIST_LENGTH).map(([address, { count, people, bytes }]) => ({
            address,
            people,
            agents: count - people,
            bytes,
          })),
        }),
      } satisfies Partial<LogReport>
    },
  }
}
const UNKNOWN = 'unknown'
const NO_REFERRER: ReadReferrer = { referrer: undefined, source: undefined }
