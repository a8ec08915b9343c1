import t from 'tap'
import { sql } from '../../src/sql.js'
import { setUpMonitor } from '../fixtures/policy-monitor.js'

const ROBOTS = 'User-agent: *\nDisallow: /private\n'

t.test('where rows are only sent to, the policy of a site is read at the origin that it names', async (t) => {
  const asked: string[] = []
  const { open, clock } = await setUpMonitor(t, {
    domains: ['a.example'],
    deps: {
      originOutbound: undefined,
      siteOutbound: (origin) => async (url) => {
        asked.push(`${origin} for ${new URL(url).host}${new URL(url).pathname}`)
        const body = url.endsWith('/robots.txt') ? ROBOTS : ''
        return { url, status: body === '' ? 404 : 200, headers: {}, body: Buffer.from(body), truncated: false }
      },
    },
  })
  const { keeper, records } = await open()
  await records.write(sql`insert into sites (id, domains) values (2, '["b.example"]')`)
  await keeper.tick()
  t.same(asked, [], 'nobody named one')
  await records.write(sql`update sites set origin = 'https://www.a.example' where id = 1`)
  clock.at += 10_000
  await keeper.tick()
  t.same(asked.toSorted(), [
    'https://www.a.example for a.example/llms.txt',
    'https://www.a.example for a.example/robots.txt',
  ])
  const version = keeper.files('a.example')?.robots.versions[0]
  t.match(version, { status: 200, body: ROBOTS })
  t.same(keeper.files('b.example')?.robots.versions, [], 'the other site has none')
})
