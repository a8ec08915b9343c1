import type { Campaign } from '../campaign.js'
import { AI_UTM_MEDIUMS, clickedSource, type Source, sourceOf, taggedSource } from './source.js'

/** The values that rules may test, in lower case; empty if absent. */
interface Visit {
  category: Source['category']
  source: string
  /** The `utm_source`, which may name a kind of link and not a place. */
  tag: string
  medium: string
  campaign: string
  paid: boolean
  /** The click id belongs to the same network as the source. */
  clicked: boolean
  /** The address carries the click id of a banner. */
  banner: boolean
  shopping: boolean
}

const PAID_MEDIUM_WORDS = new Set(['cpc', 'cpm', 'cpv', 'cpa', 'cpp', 'cpl', 'cpi', 'ppc', 'retargeting'])
const DISPLAY_MEDIUMS = new Set(['display', 'banner', 'expandable', 'interstitial', 'cpm'])
const SOCIAL_MEDIUMS = new Set(['social', 'social-network', 'social-media', 'sm', 'social network', 'social media'])
const REFERRAL_MEDIUMS = new Set(['referral', 'app', 'link'])
const EMAIL_WORDS = /e[-_ ]?mail|newsletter/

/** Returns whether a medium was paid for, by whole words: `paid-social` and `google_cpc` are, `podcpromo` is not. */
const isPaid = (medium: string) =>
  medium.startsWith('paid') || medium.split(/[^a-z0-9]+/).some((word) => PAID_MEDIUM_WORDS.has(word))

/**
 * The default channel groups as GA4 publishes them, in its order and with its names, plus AI assistants. The first match
 * wins. The README says where the groups differ from GA4's, and why.
 */
const RULES: readonly (readonly [channel: string, matches: (visit: Visit) => boolean])[] = [
  ['Cross-network', (v) => v.campaign.includes('cross-network')],
  ['Paid Shopping', (v) => v.shopping && isPaid(v.medium)],
  ['Paid Search', (v) => v.category === 'search' && (v.paid || v.clicked)],
  ['Paid Social', (v) => v.category === 'social' && v.paid],
  ['Paid Video', (v) => v.category === 'video' && v.paid],
  ['Display', (v) => v.banner || DISPLAY_MEDIUMS.has(v.medium)],
  ['Paid Other', (v) => v.paid],
  ['AI Assistants', (v) => v.category === 'ai'],
  ['Organic Shopping', (v) => v.shopping],
  ['Organic Social', (v) => v.category === 'social' || SOCIAL_MEDIUMS.has(v.medium)],
  ['Organic Video', (v) => v.category === 'video' || v.medium.includes('video')],
  ['AI Assistants', (v) => AI_UTM_MEDIUMS.has(v.medium)],
  ['Organic Search', (v) => v.category === 'search' || v.medium === 'organic'],
  ['Email', (v) => v.category === 'email' || EMAIL_WORDS.test(v.tag) || EMAIL_WORDS.test(v.medium)],
  ['Affiliates', (v) => v.medium === 'affiliate'],
  ['Audio', (v) => v.medium === 'audio'],
  ['SMS', (v) => v.tag === 'sms' || v.medium === 'sms'],
  [
    'Mobile Push Notifications',
    (v) => v.medium.endsWith('push') || /mobile|notification/.test(v.medium) || v.tag === 'firebase',
  ],
  ['Referral', (v) => REFERRAL_MEDIUMS.has(v.medium) || v.source !== ''],
]

/** The channels of advertisements. */
const PAID_CHANNELS: ReadonlySet<string> = new Set(
  RULES.slice(
    0,
    RULES.findIndex(([channel]) => channel === 'AI Assistants'),
  ).map(([channel]) => channel),
)

/**
 * Returns where a visit came from. An assistant's referrer outranks the tags, because an assistant repeats links together
 * with the tags of the mail or post that it read them in. Only tags of an advertisement and a banner's click id outrank it: they
 * name source and channel then. A click id of search is shared together with the address that has it. `assistant` is the assistant that sent the visitor, in either case; undefined if the
 * advertisement was the assistant's own.
 */
export function attributeVisit(
  campaign: Campaign,
  referrer: Source | undefined,
): { source: Source | undefined; channel: string; assistant: Source | undefined } {
  if (referrer?.category !== 'ai') {
    const source = sourceOf(campaign, referrer)
    const channel = channelOf(source, campaign)
    return { source, channel, assistant: channel === 'AI Assistants' ? source : undefined }
  }
  const isAdvertisement = campaign.click === 'display' || isPaid((campaign.utm_medium ?? '').toLowerCase())
  const source = taggedSource(campaign) ?? (isAdvertisement ? clickedSource(campaign) : undefined) ?? referrer
  const channel = channelOf(source, campaign)
  if (PAID_CHANNELS.has(channel)) return { source, channel, assistant: source.category === 'ai' ? undefined : referrer }
  return { source: referrer, channel: 'AI Assistants', assistant: referrer }
}

/** Returns the channel of a visit, by its source and its campaign. */
export function channelOf(source: Source | undefined, campaign: Campaign): string {
  const medium = (campaign.utm_medium ?? '').toLowerCase()
  const name = (campaign.utm_campaign ?? '').toLowerCase()
  const network = source?.name === 'Google' ? 'google' : source?.name === 'Bing' ? 'bing' : null
  const visit: Visit = {
    category: source?.category ?? null,
    source: source?.name.toLowerCase() ?? '',
    tag: (campaign.utm_source ?? '').toLowerCase(),
    medium,
    campaign: name,
    paid: isPaid(medium) || source?.paid === true,
    clicked: network !== null && campaign.click === network,
    banner: campaign.click === 'display',
    // "eshop" and "summer shop", not "workshop".
    shopping: source?.category === 'shopping' || /(?:[^a-df-z]|^)shop|shopping/.test(name),
  }
  return RULES.find(([, matches]) => matches(visit))?.[0] ?? 'Direct'
}
