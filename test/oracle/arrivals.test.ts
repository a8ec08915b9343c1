import t from 'tap'
import { asker, IN } from '../analytics/reads/url-rows.js'
import { observation } from '../fixtures/observations.js'
import { classifier, site } from '../fixtures/page-classifier.js'
import { seeded } from '../fixtures/random.js'

/**
 * Arrivals with what each read must say about them, written by hand. Random visits of these kinds go through the classifier
 * and the store; the reads about sources and the citation gap are recounted from the table, not from the rows.
 */
interface Kind {
  referrer?: string
  query?: string
  channel: string
  source?: string
  /** The operator for which the citation gap counts the arrival; `unnamed`: only the medium says that it is an assistant. */
  operator?: string
}
const AI = { channel: 'AI Assistants' }
const KINDS: readonly [Kind, ...Kind[]] = [
  { channel: 'Direct' },
  { referrer: 'https://semalt.com/', channel: 'Direct' },
  { referrer: 'https://www.google.de/', channel: 'Organic Search', source: 'Google' },
  { referrer: 'https://suche.gmx.net/', channel: 'Organic Search', source: 'GMX Suche' },
  { query: 'utm_source=newsletter&utm_medium=email', channel: 'Email', source: 'newsletter' },
  { referrer: 'https://mail.proton.me/', channel: 'Email', source: 'Proton Mail' },
  { referrer: 'https://lumo.proton.me/', ...AI, source: 'Lumo', operator: 'Proton' },
  { referrer: 'https://chatgpt.com/', ...AI, source: 'ChatGPT', operator: 'OpenAI' },
  { referrer: 'android-app://com.openai.chatgpt/', ...AI, source: 'ChatGPT', operator: 'OpenAI' },
  { query: 'utm_source=chatgpt.com', ...AI, source: 'ChatGPT', operator: 'OpenAI' },
  {
    referrer: 'https://chatgpt.com/',
    query: 'utm_source=newsletter&utm_medium=email',
    ...{ ...AI, source: 'ChatGPT', operator: 'OpenAI' },
  },
  {
    referrer: 'https://mail.google.com/',
    query: 'utm_source=chatgpt.com&utm_medium=email',
    ...{ ...AI, source: 'ChatGPT', operator: 'OpenAI' },
  },
  {
    referrer: 'android-app://com.anthropic.claude/',
    query: 'utm_source=x&utm_medium=social&utm_campaign=eshop',
    ...{ ...AI, source: 'Claude', operator: 'Anthropic' },
  },
  { referrer: 'https://chatgpt.com/', query: 'utm_medium=cpc', channel: 'Paid Other', source: 'ChatGPT' },
  {
    referrer: 'https://www.perplexity.ai/search/x',
    query: 'utm_source=google&utm_medium=cpc',
    ...{ channel: 'Paid Search', source: 'Google', operator: 'Perplexity' },
  },
  {
    referrer: 'https://claude.ai/',
    query: 'utm_source=facebook&utm_medium=paid_social',
    ...{ channel: 'Paid Social', source: 'Facebook', operator: 'Anthropic' },
  },
  {
    referrer: 'android-app://com.openai.chatgpt/',
    query: 'gclid=1',
    ...{ ...AI, source: 'ChatGPT', operator: 'OpenAI' },
  },
  {
    referrer: 'android-app://com.openai.chatgpt/',
    query: 'dclid=1',
    ...{ channel: 'Display', source: 'Google', operator: 'OpenAI' },
  },
  {
    referrer: 'https://x.com/i/grok',
    query: 'utm_source=partner&utm_medium=banner',
    ...{ channel: 'Display', source: 'partner', operator: 'xAI' },
  },
  {
    referrer: 'https://x.com/someone',
    query: 'utm_source=google&utm_medium=cpc',
    channel: 'Paid Search',
    source: 'Google',
  },
  { referrer: 'https://notclaude.ai/', query: 'dclid=1', channel: 'Display', source: 'notclaude.ai' },
  { query: 'utm_source=mystery&utm_medium=organic', channel: 'Organic Search', source: 'mystery' },
  { query: 'utm_source=mystery&utm_medium=llm', ...AI, source: 'mystery', operator: 'unnamed' },
]
const PATHS = ['/', '/docs', '/pricing'] as const

const random = seeded(20261122)
const visits = Array.from({ length: 2_000 }, () => ({ kind: random.of(KINDS), pathname: random.of(PATHS) }))
const { rows, drops } = classifier([{ ...site, domains: ['example.com'] }]).classify(
  visits.map(({ kind: { referrer, query }, pathname }, i) =>
    observation({
      ...{ timestamp: new Date(IN.getTime() + i * 1000).toISOString(), pathname, ip: `10.0.${i >> 8}.${i & 255}` },
      ...(referrer === undefined ? {} : { referrer }),
      ...(query === undefined ? {} : { query }),
    }),
  ),
)
t.strictSame(drops, {})
const ask = await asker(rows)

/** Counts visits by a word; visits without one are left out. */
function countBy(word: (visit: (typeof visits)[number]) => string | undefined): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const visit of visits) {
    const key = word(visit)
    if (key !== undefined) counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

/** Reads a list as counts by one of its fields. */
function readCounts(list: unknown, key: string, count: string): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const row of Array.isArray(list) ? list : []) {
    const word = String(row[key] ?? 'unnamed')
    if (row[count] > 0) counts[word] = (counts[word] ?? 0) + row[count]
  }
  return counts
}
const sorted = (counts: Record<string, number>) => Object.entries(counts).sort()

t.test('channels and sources', async (t) => {
  const { data } = await ask('stats/sources', 'limit=100')
  t.strictSame(
    sorted(readCounts(Reflect.get(Object(data), 'channels'), 'channel', 'sessions')),
    sorted(countBy(({ kind }) => kind.channel)),
  )
  t.strictSame(
    sorted(readCounts(Reflect.get(Object(data), 'sources'), 'source', 'sessions')),
    sorted(countBy(({ kind }) => kind.source ?? 'unnamed')),
  )
})

t.test('the citation gap counts the arrivals of each assistant, whatever their channel is', async (t) => {
  const summary = await ask('citation-gap/summary')
  const operators = countBy(({ kind }) => kind.operator)
  t.strictSame(
    sorted(readCounts(Reflect.get(Object(summary.data), 'operators'), 'operator', 'arrivals')),
    sorted(operators),
  )
  t.match(summary.data, { arrivals: visits.filter(({ kind }) => kind.operator !== undefined).length })
  for (const operator of [undefined, 'OpenAI', 'Anthropic', 'Proton', 'Perplexity', 'xAI']) {
    const { data } = await ask('citation-gap', `limit=100${operator ? `&operator=${operator}` : ''}`)
    const counts = (kind: Kind) => (operator === undefined ? kind.operator !== undefined : kind.operator === operator)
    t.strictSame(
      sorted(readCounts(data, 'pathname', 'arrivals')),
      sorted(countBy(({ kind, pathname }) => (counts(kind) ? pathname : undefined))),
      operator ?? 'every operator',
    )
  }
})

t.test('referrer spam is counted beside the sources', async (t) => {
  const { data } = await ask('stats/breakdown', 'dimension=referrer_spam')
  t.strictSame(
    sorted(readCounts(data, 'value', 'sessions')).map(([, n]) => n),
    sorted(countBy(({ kind }) => String(kind.referrer === 'https://semalt.com/'))).map(([, n]) => n),
  )
})
