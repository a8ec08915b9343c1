import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { Campaign } from '../capture/campaign.js'
import { MAX_CHARACTERS, truncate } from '../capture/text-limits.js'
import type { Referrer } from './referrer.js'

const CATEGORIES = ['search', 'social', 'video', 'shopping', 'email', 'ai', 'other', 'ignored'] as const
export type Category = (typeof CATEGORIES)[number]

/** Where a visitor came from. */
export interface Source {
  /** A name (`Google`), else the tag or host itself. */
  name: string
  category: Category | null
  /** The tag itself says that the visit was paid for: `fb-ads`. */
  paid: boolean
}

const words = z.array(z.string()).default([])
const Known = z.array(
  z.strictObject({
    name: z.string(),
    category: z.enum(CATEGORIES),
    /** With every host below them. */
    hosts: words,
    /** These hosts and none below them. */
    exact: words,
    /** A name that stands before any country's ending: `google` is google.com, google.de and google.co.uk. */
    families: words,
    /** Values of `utm_source`, besides the name and the hosts. */
    tags: words,
    paid_tags: words,
  }),
)
const Assistants = z.object({
  path_rules: z.array(z.object({ host: z.string(), path_prefix: z.string(), product: z.string() })),
  utm_medium: words,
  operators: z.array(z.object({ operator: z.string(), product: z.string(), hosts: words, utm_source: words })),
})

const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8'))

const hosts = new Map<string, Source>()
const exact = new Map<string, Source>()
const families = new Map<string, Source>()
const tags = new Map<string, Source>()

for (const { name, category, ...known } of Known.parse(read('./sources.json'))) {
  const source = { name, category, paid: false }
  for (const host of known.hosts) hosts.set(host, source)
  for (const host of known.exact) exact.set(host, source)
  for (const family of known.families) families.set(family, source)
  if (category !== 'ignored')
    for (const tag of [name.toLowerCase(), ...known.families, ...known.tags]) tags.set(tag, source)
  for (const tag of known.paid_tags) tags.set(tag, { ...source, paid: true })
}
const assistants = Assistants.parse(read('./ai-referrers.json'))
for (const { product, ...known } of assistants.operators) {
  const source: Source = { name: product, category: 'ai', paid: false }
  for (const host of known.hosts) hosts.set(host, source)
  for (const tag of [product.toLowerCase(), ...known.utm_source]) tags.set(tag, source)
}
const byPath = assistants.path_rules.map((rule) => ({
  ...rule,
  source: { name: rule.product, category: 'ai', paid: false } as const,
}))

/** Operators that the catalog of agents calls otherwise. */
const CATALOG_OPERATORS: Readonly<Record<string, string>> = { Manus: 'Butterfly Effect (Manus)', Zhipu: 'Zhipu AI' }

/** The sources that are AI assistants, each with its operator by the catalog's name, where it has agents there. */
export const ASSISTANTS: readonly { readonly source: string; readonly operator: string }[] = assistants.operators.map(
  ({ operator, product }) => ({ source: product, operator: CATALOG_OPERATORS[operator] ?? operator }),
)

/** `utm_medium` values that name an AI assistant, whatever the source. */
export const AI_UTM_MEDIUMS: ReadonlySet<string> = new Set(assistants.utm_medium)

/** What may follow a family's name. */
const COUNTRY_ENDING = /^(?:com|[a-z]{2}|com?\.[a-z]{2})$/

/** What the world's own mail servers are called. */
const WEBMAIL = /^(?:web)?mail\./

/** Who a host is: the entry of the host itself, else of the nearest host above it, always at a dot. */
export function sourceOfHost(host: string): Source | undefined {
  const alone = exact.get(host)
  if (alone) return alone
  const dot = host.indexOf('.')
  if (dot > 0 && COUNTRY_ENDING.test(host.slice(dot + 1))) {
    const family = families.get(host.slice(0, dot))
    if (family) return family
  }
  for (let at = 0; ; ) {
    const found = hosts.get(host.slice(at))
    if (found) return found
    at = host.indexOf('.', at) + 1
    if (at === 0) return undefined
  }
}

/** Who a `utm_source` is: a known tag or host, else itself in lower case. */
function sourceOfTag(tag: string): Source {
  const lower = tag.toLowerCase()
  const host = lower.startsWith('www.') ? lower.slice(4) : lower
  const known = tags.get(lower) ?? (host.includes('.') ? sourceOfHost(host) : undefined)
  return known && known.category !== 'ignored'
    ? known
    : { name: truncate(lower, MAX_CHARACTERS.text), category: null, paid: false }
}

/** Who a referrer is; undefined where the visitor only came back from paying or signing in. */
export function sourceOfReferrer({ host, path }: Referrer): Source | undefined {
  const rule = byPath.find((one) => one.host === host && path.startsWith(one.path_prefix))
  const known = rule?.source ?? sourceOfHost(host)
  if (known?.category === 'ignored') return undefined
  return known ?? { name: host, category: WEBMAIL.test(host) ? 'email' : null, paid: false }
}

/** The source of a visit: its tag, else its referrer, else the network whose click id it carries. */
export function sourceOf(campaign: Campaign, referrer: Source | undefined): Source | undefined {
  const tag = campaign.utm_source ?? campaign.ref
  if (tag !== null) return sourceOfTag(tag)
  return referrer ?? (campaign.click ? tags.get(campaign.click) : undefined)
}
