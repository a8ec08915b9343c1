import t from 'tap'
import { sql } from '../../../src/storage/sql.js'
import { copySite } from '../../fixtures/copy-site.js'
import { setUpMonitor } from '../../fixtures/policy-monitor.js'

const ROBOTS = 'User-agent: *\nDisallow: /private\n'

t.test('fetches the policy of a site from the origin that the site names, if the instance has no origin', async (t) => {
  const requests: string[] = []
  const { open, clock } = await setUpMonitor(t, {
    domains: ['a.example'],
    deps: {
      originOutbound: undefined,
      siteOutbound: (origin) => async (url) => {
        requests.push(`${origin} for ${new URL(url).host}${new URL(url).pathname}`)
        const body = url.endsWith('/robots.txt') ? ROBOTS : ''
        return { url, status: body === '' ? 404 : 200, headers: {}, body: Buffer.from(body), truncated: false }
      },
    },
  })
  const { monitor, records } = await open()
  await records.write(copySite(2, { domains: '["b.example"]' }))
  await monitor.tick()
  t.same(requests, [], 'no site names an origin yet')
  await records.write(sql`update sites set origin = 'https://www.a.example' where id = 1`)
  clock.at += 10_000
  await monitor.tick()
  t.same(requests.toSorted(), [
    'https://www.a.example for a.example/llms.txt',
    'https://www.a.example for a.example/robots.txt',
  ])
  const version = monitor.files('a.example')?.robots.versions[0]
  t.match(version, { status: 200, body: ROBOTS })
  t.same(monitor.files('b.example')?.robots.versions, [], 'the other site has none')
})
