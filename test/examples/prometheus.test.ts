import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { z } from 'zod'
import { addSharedMetrics, createMetricRegistry } from '../../src/api/metrics.js'
import { CHROME, dataDir, eventually, startInstance } from '../fixtures/instance.js'

const ALERTS = 'examples/grafana/alerts.yaml'
const Rules = z.object({
  groups: z.array(
    z.object({
      rules: z.array(z.object({ alert: z.string(), expr: z.string(), annotations: z.record(z.string(), z.string()) })),
    }),
  ),
})
const Dashboard = z.object({
  panels: z.array(
    z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string(), legendFormat: z.string() })) }),
  ),
})

/** The expressions of the rules and of the dashboard, each with the labels that its texts show. */
function listExpressions(): { where: string; expr: string; shown: string[] }[] {
  const [group] = Rules.parse(parse(readFileSync(ALERTS, 'utf8'))).groups
  const { panels } = Dashboard.parse(JSON.parse(readFileSync('examples/grafana/operations.json', 'utf8')))
  const names = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name = '']) => name)
  return [
    ...(group?.rules ?? []).map(({ alert, expr, annotations }) => ({
      where: alert,
      expr,
      shown: names(Object.values(annotations).join(), /\$labels\.(\w+)/g),
    })),
    ...panels.flatMap(({ title, targets }) =>
      targets.map(({ expr, legendFormat }) => ({
        where: title,
        expr,
        shown: names(legendFormat, /\{\{(\w+)\}\}/g),
      })),
    ),
  ]
}

/** Labels that Prometheus itself adds to each series. */
const OF_PROMETHEUS = ['job', 'instance']

/** Metrics of a scrape, each with its labels and their values. */
function readMetrics(text: string): Map<string, Map<string, Set<string>>> {
  const metrics = new Map(
    [...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name = '']) => [name, new Map<string, Set<string>>()]),
  )
  for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)\{(.*)\} /gm))
    for (const [, label = '', value = ''] of labels.matchAll(/(\w+)="([^"]*)"/g)) {
      const values = metrics.get(name)
      values?.set(label, (values.get(label) ?? new Set()).add(value))
    }
  return metrics
}

/** The metrics of an instance that has served, lost and stored, and those that only a fleet has. */
async function scrape(t: Test): Promise<string> {
  const origin = createServer((req, res) => {
    if (req.url === '/broken') return req.socket.destroy()
    res.setHeader('content-type', 'text/html').end('<title>a</title>')
  }).listen(0, '127.0.0.1')
  await once(origin, 'listening')
  t.teardown(() => origin.close())
  const url = `http://127.0.0.1:${(origin.address() as AddressInfo).port}`
  const app = await startInstance(url, dataDir(t), '--offline', '--max-disk', '10GB', '--backup-dir', t.testdir())
  t.teardown(() => app.stop('SIGKILL'))
  for (const path of ['/', '/broken']) await fetch(app.site + path, { headers: { 'user-agent': CHROME } })
  await eventually('the row', async () => (await app.pageviews()) === 1)
  const text = async () => (await fetch(`${app.admin}/metrics`)).text()
  await eventually('the size', async () => (await text()).includes('readership_store_bytes{use="limit"}'))
  const shared = createMetricRegistry()
  const lease = { held: true, epoch: 1, age_seconds: 1 }
  addSharedMetrics(
    shared,
    async () => ({ lease }),
    () => 0,
  )
  return (await text()) + (await shared.render()).text
}

t.test('rules and dashboard name metrics and labels that an instance has', async (t) => {
  const metrics = readMetrics(await scrape(t))
  for (const { where, expr, shown } of listExpressions()) {
    const labels = new Set(OF_PROMETHEUS)
    const used = [...expr.matchAll(/\b((?:readership|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)]
    t.ok(used.length > 0 || /\bup\{/.test(expr), `${where}: has a metric`)
    for (const [, name = '', matchers = ''] of used) {
      const known = metrics.get(name)
      t.ok(known, `${where}: ${name}`)
      for (const label of known?.keys() ?? []) labels.add(label)
      for (const [, label = '', , value = ''] of matchers.matchAll(/(\w+)(=~|=)"([^"]*)"/g))
        if (!OF_PROMETHEUS.includes(label))
          for (const each of value.split('|')) t.ok(known?.get(label)?.has(each), `${where}: ${name} ${label} ${each}`)
    }
    for (const [, list = ''] of expr.matchAll(/\b(?:by|on) \(([^)]*)\)/g)) shown.push(...list.split(', '))
    for (const label of shown) t.ok(labels.has(label), `${where}: label ${label}`)
  }
})

const skip = spawnSync('promtool', ['--version']).error !== undefined && 'no promtool (apt-get install prometheus)'
t.test('promtool checks the rules, and each fires', { skip }, async (t) => {
  for (const args of [
    ['check', 'rules', ALERTS],
    ['test', 'rules', 'test/examples/alerts.promtool.yaml'],
  ]) {
    const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' })
    t.equal(status, 0, stdout + stderr)
  }
  const fired = readFileSync('test/examples/alerts.promtool.yaml', 'utf8')
  for (const [, name] of readFileSync(ALERTS, 'utf8').matchAll(/- alert: (\w+)/g))
    t.ok(fired.includes(`alertname="${name}"`), `${name} has a test`)
})
