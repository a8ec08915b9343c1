import { hostname } from 'node:os'
import { z } from 'zod'
import type { Log } from '../../base/log.js'
import { openPrivateFile } from '../../base/private-file.js'
import { signBody } from '../../base/signature.js'
import { SECOND_MS } from '../../base/time-units.js'
import { RuleSet } from '../../rules/rule-set.js'
import type { LiveRules } from '../../site/rules/live-rules.js'
import type { FetchRules } from '../../site/shipping/collector-client.js'
import { withoutRules } from './rules-on-disk.js'

const ResponseBody = z.object({ data: RuleSet })

const ASK_INTERVAL_MS = 10 * SECOND_MS

interface SidecarRulesDeps {
  rules: LiveRules
  /** Asks the collector. */
  fetchRules: FetchRules
  /** Returns the site's ingest key. */
  key(): string
  site: number
  /** `--rules off`: only redirects and robots.txt apply. */
  isOff: boolean
  /** Keeps the last set across restarts. */
  path: string
  now(): number
  log: Log
}

/**
 * Decides by the rules that the collector has for the site: asks for them at once and every ten seconds, and keeps the last
 * ones on disk for a start without the collector. They stay however long the collector is away, also if it refuses the key:
 * a rule must not end because of a fault. A sidecar has no worker, so no claim is checked there.
 */
export function startSidecarRules(deps: SidecarRulesDeps) {
  const { rules, fetchRules, site, isOff, now, log } = deps
  const file = openPrivateFile(deps.path)
  const ending = new AbortController()
  let etag: string | undefined
  let problem: string | undefined
  let confirmed = now()
  let isAsking = false
  const warnOnce = (reason: string) => {
    if (reason !== problem) log.warn({ reason }, 'the rules for agents cannot be renewed: the last ones decide')
    problem = reason
  }
  /**
   * Applies the site's rules for every hostname, because the collector stores its rows whatever their hostname. The file may be
   * one of a proxy's, or of another site.
   */
  const apply = (set: RuleSet): void => {
    const sites = set.sites.filter((one) => one.site === site).map((one) => ({ ...one, domains: [] }))
    rules.apply(withoutRules({ ...set, sites }, isOff))
  }
  const ask = async (): Promise<void> => {
    if (isAsking) return
    isAsking = true
    try {
      const headers = {
        'x-service-signature': signBody(deps.key(), now(), ''),
        'x-readership-front': hostname(),
        'x-readership-rules': isOff ? 'off' : rules.set.version,
        ...(etag !== undefined && { 'if-none-match': etag }),
      }
      const response = await fetchRules(site, headers, ending.signal)
      if (response.status === 200) {
        const { data } = ResponseBody.parse(JSON.parse(response.text))
        apply(data)
        file.write(JSON.stringify(data))
        etag = response.etag
      }
      // A collector that has no rules yet does not know the path.
      if (![200, 304, 404].includes(response.status)) {
        const isRefused = response.status === 401 || response.status === 403
        warnOnce(`the collector ${isRefused ? 'refuses the ingest key' : 'responds'} with ${response.status}`)
      } else {
        if (problem !== undefined) log.info({}, 'the rules for agents are renewed again')
        problem = undefined
        if (response.status !== 404) confirmed = now()
      }
    } catch (error) {
      if (!ending.signal.aborted) warnOnce(error instanceof Error ? error.message : String(error))
    } finally {
      isAsking = false
    }
  }
  try {
    const kept = file.read()
    if (kept !== undefined) apply(RuleSet.parse(JSON.parse(kept)))
  } catch {
    log.warn({ file: deps.path }, 'the rules for agents on disk cannot be read; they are asked of the collector')
  }
  void ask()
  const timer = setInterval(() => void ask(), ASK_INTERVAL_MS).unref()
  return {
    /** When the collector last confirmed the rules, or this process started, and why it does not now. */
    read: () => ({ confirmed, problem }),
    stop(): void {
      clearInterval(timer)
      ending.abort()
    },
  }
}
