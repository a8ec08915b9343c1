import { request } from './history.js'
import { notesOf } from './past-events.js'

const ARTICLE = { op: 'starts_with', value: '/articles/' }

/** Records that show what a site's own would look like, by the path of the API that creates them. */
const RECORDS: readonly [string, Record<string, unknown>][] = [
  ['goals', { name: 'Subscribed', type: 'page', match: { op: 'is', value: '/thank-you' } }],
  ['goals', { name: 'Read an article to the end', type: 'scroll', match: { op: 'gte', value: 90, pathname: ARTICLE } }],
  [
    'funnels',
    {
      name: 'From the prices to a subscription',
      steps: [
        { label: 'Saw the prices', type: 'page', match: { op: 'is', value: '/pricing' } },
        { label: 'Saw the form', type: 'page', match: { op: 'is', value: '/subscribe' } },
        { label: 'Subscribed', type: 'page', match: { op: 'is', value: '/thank-you' } },
      ],
    },
  ],
  [
    'segments',
    {
      name: 'Sent by an assistant',
      filters: [{ dimension: 'channel', op: 'is', value: 'AI Assistants' }],
    },
  ],
]

/**
 * Makes a goal, a funnel, a segment and notes of site 1. `since` is the beginning of the running demo; `key` is an API
 * key with the scope `manage:write`.
 */
export async function createDemoRecords(admin: string, key: string, since: Date): Promise<void> {
  for (const [kind, record] of RECORDS) await request(`${admin}/api/${kind}`, key, 'POST', { site: 1, ...record })
  for (const { at, text } of notesOf(since.getTime()))
    await request(`${admin}/api/annotations`, key, 'POST', { site: 1, at: at.toISOString(), text })
}
