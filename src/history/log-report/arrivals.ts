import { memoize } from '../../base/cache.js'
import { parseCampaign } from '../../capture/campaign.js'
import { attributeVisit } from '../../capture/sources/channel.js'
import { parseReferrer } from '../../capture/sources/referrer.js'
import { sourceOfReferrer } from '../../capture/sources/source.js'

const MAX_CACHED_REFERRERS = 8192

/** Creates a function that names the AI assistant that a pageview came from, by referrer and campaign; undefined if none. */
export function createAssistantReader(): (referrer: string, query: string) => string | undefined {
  const readReferrer = memoize(MAX_CACHED_REFERRERS, (text) => {
    const referrer = parseReferrer(text)
    return { source: referrer && sourceOfReferrer(referrer) }
  })
  return (text, query) => {
    const referrer = text === '' ? undefined : readReferrer(text).source
    // Nearly all pageviews have neither an assistant's referrer nor a campaign.
    if (query === '' && referrer?.category !== 'ai') return undefined
    const campaign = parseCampaign(query)
    const { channel, assistant } = attributeVisit(campaign, referrer)
    // A medium alone may say that it was an assistant, without a name.
    return assistant?.name ?? (channel === 'AI Assistants' ? (campaign.utm_medium ?? '') : undefined)
  }
}
