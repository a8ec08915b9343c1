import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { ASSISTANT_REFERRERS } from '../capture/assistants.js'
import type { Campaign } from '../capture/campaign.js'
import { MAX_CHARACTERS, truncate } from '../capture/text-limits.js'
import type { Referrer } from './referrer.js'

const CATEGORIES = ['search', 'social', 'video', 'shopping', 'email', 'ai', 'other', 'ignored'] as const

/** The place that a visitor came from. */
export interface Source {
  /** A known name (`Google`), else the tag or host itself. */
  name: string
  category: (typeof CATEGORIES)[number] | null
  /** The tag itself says that the visit was paid for: `fb-ads`. */
  paid: boolean
}

const words = z.array(z.string()).default([])
const KnownSources = z.array(
  z.strictObject({
    name: z.string(),
    category: z.enum(CATEGORIES),
    /** Hosts that stand for every host below them as well. */
    hosts: words,
    /** Hosts that stand for themselves only. */
    exact: words,
    /** A name before any country's ending: `google` stands for google.com, google.de and google.co.uk. */
    families: words,
    /** Values of `utm_source`, besides the name and the hosts. */
    tags: words,
    paid_tags: words,
  }),
)

const hosts = new Map<string, Source>()
const exactHosts = new Map<string, Source>()
const families = new Map<string, Source>()
const tags = new Map<string, Source>()

const file = readFileSync(new URL('./sources.json', import.meta.url), 'utf8')
for (const { name, category, ...known } of KnownSources.parse(JSON.parse(file))) {
  const source = { name, category, paid: false }
  for (const host of known.hosts) hosts.set(host, source)
  for (const host of known.exact) exactHosts.set(host, source)
  for (const family of known.families) families.set(family, source)
  if (category !== 'ignored')
    for (const tag of [name.toLowerCase(), ...known.families, ...known.tags]) tags.set(tag, source)
  for (const tag of known.paid_tags) tags.set(tag, { ...source, paid: true })
}
const assistantSource = (product: string): Source => ({ name: product, category: 'ai', paid: false })
for (const { product, ...known } of ASSISTANT_REFERRERS.operators) {
  const source = assistantSource(product)
  for (const host of known.hosts) hosts.set(host, source)
  for (const tag of [product.toLowerCase(), ...known.utm_source]) tags.set(tag, source)
}
const pathRules = ASSISTANT_REFERRERS.path_rules.map((rule) => ({ ...rule, source: assistantSource(rule.product) }))

/** The `utm_medium` values that name an AI assistant, whatever the source. */
export const AI_UTM_MEDIUMS: ReadonlySet<string> = new Set(ASSISTANT_REFERRERS.utm_medium)

/** Matches the endings that may follow a family's name. */
const COUNTRY_ENDING = /^(?:com|[a-z]{2}|com?\.[a-z]{2})$/

/** Names of private mail servers. */
const WEBMAIL = /^(?:web)?mail\./

/** Returns the entry of the host itself, else of the nearest host above it, always at a dot. */
function sourceOfHost(host: string): Source | undefined {
  const exact = exactHosts.get(host)
  if (exact) return exact
  const dot = host.indexOf('.')
  if (dot > 0 && COUNTRY_ENDING.test(host.slice(dot + 1))) {
    const family = families.get(host.slice(0, dot))
    if (family) return family
  }
  for (let at = 0; ; ) {
    const source = hosts.get(host.slice(at))
    if (source) return source
    at = host.indexOf('.', at) + 1
    if (at === 0) return undefined
  }
}

/** Returns the source of a `utm_source`: a known tag or host, else the tag itself in lower case. */
function sourceOfTag(tag: string): Source {
  const lower = tag.toLowerCase()
  const host = lower.startsWith('www.') ? lower.slice(4) : lower
  const known = tags.get(lower) ?? (host.includes('.') ? sourceOfHost(host) : undefined)
  if (known && known.category !== 'ignored') return known
  return { name: truncate(lower, MAX_CHARACTERS.text), category: null, paid: false }
}

/** Returns the source of a referrer; undefined if the visitor only came back from paying or signing in. */
export function sourceOfReferrer({ host, path }: Referrer): Source | undefined {
  const rule = pathRules.find((one) => one.host === host && path.startsWith(one.path_prefix))
  const known = rule?.source ?? sourceOfHost(host)
  if (known?.category === 'ignored') return undefined
  return known ?? { name: host, category: WEBMAIL.test(host) ? 'email' : null, paid: false }
}

/** Returns the source of a visit: its tag, else its referrer, else the network whose click id it carries. */
export function sourceOf(campaign: Campaign, referrer: Source | undefined): Source | undefined {
  const tag = campaign.utm_source ?? campaign.ref
  if (tag !== null) return sourceOfTag(tag)
  return referrer ?? (campaign.click ? tags.get(campaign.click) : undefined)
}
