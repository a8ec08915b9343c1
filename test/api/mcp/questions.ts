/** A call of a tool with its arguments. */
type Call = readonly [tool: string, args?: Readonly<Record<string, unknown>>]

const is = (dimension: string, value: string | boolean) => ({ dimension, op: 'is', value })
const ask = (report: string, more: object = {}): Call => ['ask', { report, ...more }]
const GLOSSARY = is('pathname', '/glossary')

/**
 * Sixty questions of owners, each with the calls that answer it and a word that the answer has to have: the name of the field
 * that it is read from.
 */
export const QUESTIONS: readonly [question: string, field: string, ...calls: Call[]][] = [
  ['How many people came this week?', 'visitors', ask('overview', { range: '7d' })],
  ['Is that more than the week before?', 'visitors', ['compare', { report: 'overview', range: '7d' }]],
  ['And than a year ago?', 'visitors', ['compare', { report: 'overview', range: '30d', with: 'year' }]],
  ['Who is on the site now?', 'people', ['live']],
  ['Which agents are reading now?', 'agents', ['live', { audience: 'agent' }]],
  ['What are my most read pages?', 'pathname', ask('pages')],
  ['On which pages do people arrive?', 'entries', ask('pages', { limit: 20 })],
  ['Where do people leave?', 'exits', ask('pages')],
  ['How long do people stay on a page?', 'time_on_page', ask('pages')],
  ['Where do people come from?', 'source', ask('sources')],
  ['How many come from AI assistants?', 'visitors', ask('overview', { filters: [is('channel', 'AI Assistants')] })],
  [
    'Which assistants send people?',
    'value',
    ask('breakdown', { dimension: 'source', filters: [is('channel', 'AI Assistants')] }),
  ],
  [
    'To which pages do assistants send people?',
    'pathname',
    ask('pages', { filters: [is('channel', 'AI Assistants')] }),
  ],
  [
    'How did search traffic develop this quarter?',
    'buckets',
    ask('timeseries', { range: '90d', filters: [is('channel', 'Organic Search')] }),
  ],
  ['Which campaign brought most people?', 'value', ask('breakdown', { dimension: 'utm_campaign' })],
  ['Which countries do people come from?', 'value', ask('breakdown', { dimension: 'country' })],
  ['Which cities?', 'cities', ask('locations')],
  ['Do people use phones?', 'device', ask('devices')],
  ['Which browsers?', 'value', ask('breakdown', { dimension: 'browser' })],
  ['When are people here, by hour of the day?', 'hour', ask('hours')],
  ['Do people come back?', 'cohort', ask('retention')],
  [
    'Who read the glossary and never came back?',
    'cohorts',
    ask('visitors', { filters: [GLOSSARY], limit: 50 }),
    ask('retention', { filters: [GLOSSARY] }),
  ],
  ['Which visits had more than two pages?', 'pageviews', ask('sessions')],
  ['What do people do after the front page?', 'nodes', ask('journeys')],
  ['How many subscribed?', 'conversions', ['goals']],
  [
    'Which source converts best?',
    'value',
    ['list', { what: 'values', dimension: 'goal' }],
    ask('breakdown', { dimension: 'source', filters: [is('goal', 'Glossary')] }),
  ],
  ['Where do people drop out of the funnel?', 'steps', ['list', { what: 'funnels' }], ask('funnel/1')],
  ['Which events do people trigger?', 'name', ask('events')],
  ['How fast are my pages for people?', 'lcp', ask('performance')],
  ['Which script errors do people meet?', 'message', ask('errors')],
  ['Are some of the people robots?', 'suspected', ask('suspected')],
  ['How many people without those?', 'visitors', ask('overview', { suspected: 'exclude' })],
  ['Why did the traffic rise?', 'verdict', ['what_changed']],
  ['Why do agents fetch more?', 'verdict', ['what_changed', { audience: 'agent' }]],
  ['Did something happen on the 10th?', 'data', ['notes', { start: '2026-11-10', end: '2026-11-10' }]],
  ['How much do agents fetch?', 'fetches', ask('agents/overview')],
  [
    'Which agents fetch most?',
    'value',
    ask('agents/breakdown', { dimension: 'agent_id' }),
    ['list', { what: 'agents' }],
  ],
  ['Which operators?', 'operators', ask('agents/overview')],
  ['Is this really GPTBot?', 'verified', ['agent', { agent_id: 'gptbot' }]],
  [
    'Who pretends to be an agent?',
    'spoofed',
    ask('agents/breakdown', { dimension: 'agent_id', filters: [is('verification', 'spoofed')] }),
  ],
  ['How many fetches train models?', 'fetches', ask('agents/overview', { filters: [is('purpose', 'training')] })],
  ['Which pages do agents read?', 'value', ask('agents/breakdown', { dimension: 'pathname' })],
  ['Which pages has no AI read?', 'pathname', ask('agents/coverage')],
  ['Which errors do agents get?', 'value', ask('agents/breakdown', { dimension: 'status' })],
  ['May GPTBot read my proofs?', 'allowed', ['policy', { path: '/proofs', agent_id: 'gptbot' }]],
  ['Who ignores my robots.txt?', 'agent_id', ['violations']],
  ['Which rule is broken most?', 'rule', ['violations', { by: 'rules' }]],
  ['When did robots.txt change, and who has read it?', 'data', ask('policy/versions')],
  ['Does anybody read llms.txt?', 'reads', ask('agents/llms-links')],
  ['Who asks for Markdown?', 'pairs', ask('agents/formats')],
  ['What does AI read without sending anybody?', 'verdict', ['citation_gap']],
  ['After how many live fetches does a person come?', 'fetches', ask('answers/summary')],
  ['For which pages does that happen?', 'followed', ask('answers')],
  [
    'Do agents know the new text of the page?',
    'editions',
    ['page', { path: '/articles/slack-water' }],
    ask('editions'),
  ],
  ['Which pages are empty for machines?', 'problems', ask('blank-pages')],
  ['What do agents cost me?', 'cost', ask('bill')],
  ['Which old content do agents still read?', 'pathname', ask('content/decay')],
  ['Which pages do agents invent?', 'data', ask('phantom-links')],
  ['What would happen if I refused OpenAI?', 'would', ['rehearse_rule', { operators: ['OpenAI'] }]],
  ['Tell me all about the front page.', 'channels', ['page', { path: '/' }]],
]
