import t from 'tap'
import { loadDashboardTexts } from '../../fixtures/dashboard-texts.js'
import { answerOf, documented } from '../../fixtures/document.js'

/** The words by which the document of the API describes what is counted in a unit. */
const WORDS: Readonly<Record<string, RegExp>> = {
  people: /\b(?:people|visitors)\b/i,
  visits: /\b(?:visits|sessions)\b/i,
  pageviews: /\bpageviews\b|pages viewed by people/i,
  reads: /\breads\b/i,
  fetches: /\bfetches\b|requests by agents/i,
  pages: /\bpages\b/i,
  aiVisits: /sessions of people that entered .* from an AI assistant/i,
  agents: /\bagents?\b/i,
  events: /\bevents\b/i,
  errors: /\berrors?\b/i,
}
/** Each point of a series is a number of the metric, which is a field of another read. */
const METRICS_OF: Readonly<Record<string, string>> = { '/api/stats/timeseries': '/api/stats/overview' }

const { fieldUnits } = await loadDashboardTexts()

t.test('the document of the API describes each field by the unit that sentences tell with it', async (t) => {
  const { document, operations } = await documented(t)
  const schemas = Object.entries(document.components.schemas)
  const named = new Map<unknown, unknown>(schemas.map(([name, schema]) => [`#/components/schemas/${name}`, schema]))
  t.ok(Object.keys(fieldUnits).length > 40, 'the table is there')
  for (const [key, unit] of Object.entries(fieldUnits)) {
    const [path = '', field = ''] = key.split(' ')
    const at = METRICS_OF[path] ?? path
    const asked = operations.filter((each) => each.method === 'get' && [at, `${at}/{id}`].includes(each.path))
    const answers = asked.flatMap(({ operation }) => Object.values(answerOf(operation).content))
    const found = answers.flatMap(({ schema }) => [...descriptionsOf(schema, field, named)])
    // The total of a list is the number of its rows, whatever they are.
    if (field === 'total') t.ok(found.length > 0, `${path} is a list`)
    else
      t.ok(
        found.some((text) => WORDS[unit]?.test(text)),
        `${key} counts ${unit}: ${found.join(' | ')}`,
      )
  }
})

/** Yields how the fields of a name are described, and the fields whose value may be the name. */
function* descriptionsOf(schema: unknown, field: string, named: ReadonlyMap<unknown, unknown>): Generator<string> {
  if (typeof schema !== 'object' || schema === null) return
  const { $ref, properties, description, ...rest } = Object(schema)
  if (named.has($ref)) yield* descriptionsOf(named.get($ref), field, named)
  for (const [name, one] of Object.entries<{ enum?: unknown; description?: unknown }>(properties ?? {})) {
    const isNamed = name === field || (Array.isArray(one.enum) && one.enum.includes(field))
    if (isNamed) yield typeof one.description === 'string' ? one.description : 'not described'
    yield* descriptionsOf(one, field, named)
  }
  for (const one of Object.values(rest)) yield* descriptionsOf(one, field, named)
}
