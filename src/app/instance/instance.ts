import type { ProxyCounts, RuleCounts } from '../../api/metrics.js'
import type { Log } from '../../base/log.js'
import type { PackedBatch } from '../../capture/packed-batch.js'
import type { OpenReadership } from '../../capture/readership-interface.js'
import type { RecorderStats } from '../../capture/recorder.js'
import type { SampledPage } from '../../capture/sampled-page.js'
import type { SiteSettings } from '../../capture/site.js'
import type { SendMail } from '../../manage/notify/mail-message.js'
import type { LiveRules } from '../../site/rules/live-rules.js'
import type { DropReason, IngestEndpoint } from '../../storage/drops.js'
import type { LoggedError } from './last-error.js'

/** A running instance as its own process sees it: the public interface, and the operator's. */
export interface Instance extends Required<Omit<OpenReadership, 'mounted' | 'decide' | 'redirect'>> {
  /** Answers a request of the operator, which came through the control socket. */
  control(request: Request): Promise<Response>
  /** Notes that a changed robots.txt or llms.txt went to a client, who asked at `at` (epoch ms). Never throws. */
  policySeen(hostname: string, path: string, at: number): void
  /** Takes a page that went to a client, to find when its text changes. Never throws. */
  pageSampled(page: SampledPage): void
  /** Returns the id of the site that a hostname (lower case, without port) belongs to, at most ten seconds old. */
  siteOf(hostname: string): number | undefined
  /** Counts the hostname of a request if no site takes it. */
  noteHostname(hostname: string): void
  /** Stores what another process of the site has packed; rejects if it is lost. */
  recordBatch(batch: PackedBatch): Promise<void>
  /** Counts hits that another process of the site dropped; `site` is undefined if they name no existing site. */
  countDrop(site: number | undefined, door: IngestEndpoint, reason: DropReason, count: number): void
  /** Calls the listener with the sites, now and whenever they were read again. */
  watchSites(listener: (sites: readonly SiteSettings[]) => void): void
}

/** The recorders of the site's other processes, as one. */
export interface OtherRecorders {
  /** As the processes reported last. */
  stats(): RecorderStats
  /** Resolves when everything that they had recorded is stored or dropped; `stats` is then up to date. */
  flush(): Promise<void>
  /** Brings `stats` up to date. */
  refresh(): Promise<void>
}

/** The parts of an instance that its process provides. */
export interface InstanceDeps {
  log: Log
  version?: string
  now?(): Date
  /** Counters of the proxy in front of the instance, where there is one. */
  proxy?(): ProxyCounts | undefined
  /** The recorders of other processes that serve the same site, where there are any. */
  otherRecorders?(): OtherRecorders | undefined
  /** Further facts for the operator's status, such as the origin. */
  status?(): Record<string, unknown>
  /** The last error of the log. */
  lastError?(): LoggedError | undefined
  /** The rules for agents by which this process decides, where it serves sites. */
  rules?: LiveRules
  /** Returns the decisions of these rules in all processes of the site. */
  ruleCounts?(): RuleCounts
  /** Sends mails; absent, `smtp` decides, and without `smtp` links go to the log. */
  send?: SendMail
  /** Returns the URL of the listener that serves the site; without it, a site's URL comes from its domains. */
  site?(): string | undefined
  /** Returns the URL at which the service answers, as far as it is known; without it and `public_url`, links are paths. */
  service?(): string | undefined
  /** Returns the URL at which other processes reach the service, where the operator names none. */
  address?(): string
  /** The folder of the built dashboard; by default the one that the build makes. */
  dashboard?: URL
}
