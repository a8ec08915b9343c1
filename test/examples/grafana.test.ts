import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { z } from 'zod'
import { reads } from '../../src/analytics/reads/index.js'
import { NOW, sampleService } from '../fixtures/sample.js'

const Target = z.object({
  refId: z.string(),
  datasource: z.object({ type: z.string(), uid: z.string() }),
  type: z.literal('json'),
  source: z.literal('url'),
  parser: z.literal('backend'),
  format: z.enum(['table', 'timeseries']),
  url: z.string(),
  url_options: z.object({
    method: z.literal('GET'),
    params: z.array(z.object({ key: z.string(), value: z.string() })),
  }),
  root_selector: z.string(),
  columns: z.array(
    z.object({ selector: z.string(), text: z.string(), type: z.enum(['string', 'number', 'timestamp']) }),
  ),
})
const Dashboard = z.object({
  uid: z.string(),
  templating: z.object({ list: z.array(z.object({ name: z.string(), query: z.string() })) }),
  panels: z.array(z.object({ id: z.int(), title: z.string(), targets: z.array(Target).min(1) })).min(1),
})
const Sources = z.object({
  datasources: z.tuple([
    z.object({
      uid: z.string(),
      type: z.string(),
      url: z.url(),
      jsonData: z.object({ auth_method: z.literal('bearerToken'), allowedHosts: z.array(z.string()) }),
      secureJsonData: z.object({ bearerToken: z.string().startsWith('$') }),
    }),
  ]),
})
const file = (name: string) => readFileSync(`examples/grafana/${name}`, 'utf8')

t.test('every panel asks what the service answers, and plots what is there', async (t) => {
  const { ask } = await sampleService(t)
  const dashboard = Dashboard.parse(JSON.parse(file('dashboard.json')))
  const [source] = Sources.parse(parse(file('datasource.yaml'))).datasources
  t.ok(source.jsonData.allowedHosts.includes(source.url))
  const window: Record<string, string> = {
    // biome-ignore-start lint/suspicious/noTemplateCurlyInString: Grafana's own variables
    '${__from:date:iso}': new Date(NOW.getTime() - 30 * 86_400_000).toISOString(),
    '${__to:date:iso}': NOW.toISOString(),
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: Grafana's own variables
    ...Object.fromEntries(dashboard.templating.list.map(({ name, query }) => [`$${name}`, query])),
  }
  const readerships = new Set<string>()
  for (const { title, targets } of dashboard.panels)
    for (const { datasource, url, url_options, root_selector, columns } of targets) {
      t.same(datasource, { type: source.type, uid: source.uid }, title)
      const read = reads.find(({ path }) => path === url)
      if (!read) {
        t.fail(`${title}: ${url} is not a read`)
        continue
      }
      for (const { key } of url_options.params) t.ok(key in read.query, `${title}: ${url} takes ${key}`)
      const query = new URLSearchParams(
        Object.fromEntries(url_options.params.map(({ key, value }) => [key, window[value] ?? value])),
      )
      const { status, body } = await ask(`${url}?${query}`)
      t.equal(status, 200, `${title}: ${query}`)
      const root = root_selector
        .split('.')
        .reduce<unknown>((at, word) => z.record(z.string(), z.unknown()).parse(at)[word], body)
      const rows = z.array(z.record(z.string(), z.unknown())).min(1).parse([root].flat())
      for (const { selector, type } of columns) {
        const values = rows.flatMap((row) => row[selector] ?? [])
        t.ok(values.length > 0, `${title}: ${selector} is there`)
        for (const value of values)
          if (type === 'timestamp') t.notSame(Date.parse(String(value)), Number.NaN, `${title}: ${selector}`)
          else t.type(value, type, `${title}: ${selector}`)
      }
      readerships.add(url.startsWith('/api/agents/') || query.get('audience') === 'agent' ? 'agents' : 'people')
    }
  t.same([...readerships].sort(), ['agents', 'people'], 'both readerships')
  t.equal(new Set(dashboard.panels.map(({ id }) => id)).size, dashboard.panels.length, 'each panel has its id')
})
