import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { ASSISTANT_REFERRERS } from '../../base/assistants.js'
import { MAX_CHARACTERS, truncate } from '../../base/text-limits.js'
import type { Campaign } from '../campaign.js'
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
    /** Empty: each host is a source under its own name. */
    name: z.string().default(''),
    category: z.enum(CATEGORIES),
    /** Hosts that stand for every host below them as well. `host/path` stands for that path and those below it. */
    hosts: words,
    /** Hosts that stand for themselves only. */
    exact: words,
    /** A name before any country's ending: `google` stands for google.com, google.de and google.co.uk. */
    families: words,
    /** Android apps by their package names. */
    apps: words,
    /** Values of `utm_source`, besides the name and the hosts. */
    tags: words,
    paid_tags: words,
  }),
)

const hosts = new Map<string, Source>()
const exactHosts = new Map<string, Source>()
const families = new Map<string, Source>()
const apps = new Map<string, Source>()
const tags = new Map<string, Source>()
/** The few hosts on which a path is another source. */
const paths = new Map<string, { path: string; source: Source }[]>()

function addHosts(source: Source, known: readonly string[]): void {
  for (const host of known) {
    const slash = host.indexOf('/')
    if (slash < 0) hosts.set(host, source)
    else {
      const path = { path: host.slice(slash), source }
      paths.set(host.slice(0, slash), [...(paths.get(host.slice(0, slash)) ?? []), path])
    }
  }
}

const file = readFileSync(new URL('./sources.json', import.meta.url), 'utf8')
for (const { name, category, ...entry } of KnownSources.parse(JSON.parse(file))) {
  const source = { name, category, paid: false }
  addHosts(source, entry.hosts)
  for (const host of entry.exact) exactHosts.set(host, source)
  for (const family of entry.families) families.set(family, source)
  for (const app of entry.apps) apps.set(app, source)
  if (name !== '' && category !== 'ignored')
    for (const tag of [name.toLowerCase(), ...entry.families, ...entry.tags]) tags.set(tag, source)
  for (const tag of entry.paid_tags) tags.set(tag, { ...source, paid: true })
}
for (const { product, ...known } of ASSISTANT_REFERRERS.operators) {
  const source: Source = { name: product, category: 'ai', paid: false }
  addHosts(source, known.hosts)
  for (const app of known.apps) apps.set(app, source)
  for (const tag of [product.toLowerCase(), ...known.utm_source]) tags.set(tag, source)
}

/** The `utm_medium` values that name an AI assistant, whatever the source. */
export const AI_UTM_MEDIUMS: ReadonlySet<string> = new Set(ASSISTANT_REFERRERS.utm_medium)

/** Matches the endings that may follow a family's name. */
const COUNTRY_ENDING = /\.(?:com|[a-z]{2}|com?\.[a-z]{2})$/

/** Names that private mail servers have, and that mail services give to the hosts through which links leave a mail. */
const WEBMAIL = /^(?:(?:web)?mail\d?|email|roundcube|horde|zimbra|owa|deref-[a-z\d-]+)\./
/** Words for mail before the name of a service. As the name itself (`posta.hu`, `posta.com.tr`) they are a post office or a newspaper. */
const FOREIGN_WEBMAIL =
  /^(?:poczta|posta|correo)\.(?!(?:com?|net|org|info|biz|edu|gov|gob|ac|or|ne)\.[a-z]{2}$)[^.]+\.[^.]/
/** Names that servers of the fediverse have. */
const FEDIVERSE = /^(?:mastodon|mstdn|masto|lemmy|pixelfed|misskey|pleroma|akkoma|friendica)\./

/** Returns the entry of the host itself, else of the nearest host above it, else what its first word says. */
function sourceOfHost(host: string): Source | undefined {
  const known = exactHosts.get(host) ?? familyOfHost(host) ?? nearestHost(host)
  if (known) return known.name === '' ? { ...known, name: host } : known
  const category =
    WEBMAIL.test(host) || FOREIGN_WEBMAIL.test(host) ? 'email' : FEDIVERSE.test(host) ? 'social' : undefined
  return category && { name: host, category, paid: false }
}

function familyOfHost(host: string): Source | undefined {
  const end = host.search(COUNTRY_ENDING)
  return end < 0 ? undefined : families.get(host.slice(0, end))
}

/** Tries the host and every host above it, always at a dot. */
function nearestHost(host: string): Source | undefined {
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
  const known = tags.get(lower) ?? apps.get(lower) ?? (host.includes('.') ? sourceOfHost(host) : undefined)
  if (known && known.category !== 'ignored') return known
  return { name: truncate(lower, MAX_CHARACTERS.text), category: null, paid: false }
}

/** Returns the source of a referrer; undefined if the visitor only came back from paying or signing in. */
export function sourceOfReferrer({ host, path, isApp }: Referrer): Source | undefined {
  const known = isApp ? apps.get(host) : (sourceOfPath(host, path) ?? sourceOfHost(host))
  if (known?.category === 'ignored') return undefined
  return known ?? { name: host, category: null, paid: false }
}

const sourceOfPath = (host: string, path: string): Source | undefined =>
  paths.get(host)?.find((one) => path === one.path || path.startsWith(`${one.path}/`))?.source

/**
 * Returns the source of a visit as its tags name it, else the referrer, else the network whose click id it carries.
 * `attributeVisit` says when an assistant outranks the tags.
 */
export const sourceOf = (campaign: Campaign, referrer: Source | undefined): Source | undefined =>
  taggedSource(campaign) ?? referrer ?? clickedSource(campaign)

/** Returns the source that `utm_source`, `source` or `ref` names. */
export function taggedSource({ utm_source, ref }: Campaign): Source | undefined {
  const tag = utm_source ?? ref
  return tag === null ? undefined : sourceOfTag(tag)
}

/** Returns the network whose click id the address carries. Google serves banners too (`dclid`). */
export const clickedSource = ({ click }: Campaign): Source | undefined =>
  click === null ? undefined : tags.get(click === 'display' ? 'google' : click)
