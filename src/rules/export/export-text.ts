import type { Agent } from '../../agents/agent.js'
import type { DecidingRule } from '../rule.js'
import { toApache } from './apache.js'
import { toCaddy } from './caddy.js'
import { toCloudflare } from './cloudflare.js'
import { exportRules } from './exported-rules.js'
import { toHaproxy } from './haproxy.js'
import { toNginx } from './nginx.js'
import { toRobots } from './robots.js'

const TEXTS = {
  nginx: toNginx,
  caddy: toCaddy,
  apache: toApache,
  haproxy: toHaproxy,
  cloudflare: toCloudflare,
  robots: toRobots,
} as const

/** The servers and files for which rules are exported. */
export const EXPORT_TARGETS = ['nginx', 'caddy', 'apache', 'haproxy', 'cloudflare', 'robots'] as const
export type ExportTarget = (typeof EXPORT_TARGETS)[number]

/**
 * Returns the rules that are on at `now` (milliseconds since 1970) as a text for another server, with comments about what it
 * leaves out. What it refuses, readership would refuse too, if user agents say the truth.
 */
export const exportText = (
  target: ExportTarget,
  rules: readonly DecidingRule[],
  catalog: readonly Agent[],
  now: number,
): string => TEXTS[target](exportRules(rules, catalog, now), catalog)
