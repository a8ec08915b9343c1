import t from 'tap'
import { sql } from '../../src/storage/sql.js'
import { edgeService } from '../fixtures/edge-service.js'

const { workerClient, post, fetched, viewed, fresh, key, drops, foreign } = await edgeService(t)

t.test('rows of hostnames that the site does not list are refused alone', async (t) => {
  fresh()
  const hosts = [
    'two.example',
    'www.two.example',
    'TWO.example:8443',
    'evil.example',
    'one.example',
    '',
    'three.example',
  ]
  const of = (list: readonly string[], row: (more: object) => object) =>
    list.map((hostname, n) => row({ hostname, pathname: `/${n}` }))
  const answer = await post(
    { site_id: 2, agent_events: of(hosts, fetched), events: of(hosts.slice(2), viewed) },
    key.two,
  )
  const refused = (list: string, ...numbers: number[]) =>
    numbers.map((n) => ({ row: `${list}[${n}]`, reason: 'foreign_host' }))
  t.match(answer, { status: 202, data: { agent_events: 3, events: 1 } }, 'the others are stored')
  t.strictSame(answer.data?.refused, [...refused('agent_events', 3, 4, 5, 6), ...refused('events', 1, 2, 3, 4)])
  t.strictSame(drops, [[2, 'foreign_host', 8]], 'and the refused ones are counted')
  t.strictSame(
    [...new Set(foreign)],
    ['2 evil.example', '2 one.example', '2 ', '2 three.example'],
    'with their hostnames',
  )
  const stored = sql`select distinct hostname from (select site_id, hostname from events union all
    select site_id, hostname from agent_events) b where site_id = 2 order by hostname`
  t.strictSame(await workerClient.events.query(stored), [{ hostname: 'two.example' }, { hostname: 'www.two.example' }])
  fresh()
  const any = await post({ site_id: 1, agent_events: of(['any.example', 'two.example'], fetched) })
  t.strictSame(any.data?.refused, refused('agent_events', 1), 'a site without hostnames has all but those of others')
})

t.test('rows without an address are accepted', async (t) => {
  fresh()
  const { ip: _, ...person } = viewed({ pathname: '/a' })
  const { ip: __, ...agent } = fetched({ pathname: '/b' })
  const events = [
    person,
    { ...person, ip: null, pathname: '/c' },
    viewed({ pathname: '/d', user_agent: `${person.user_agent} x` }),
  ]
  t.match(await post({ site_id: 1, agent_events: [agent], events }), {
    status: 202,
    data: { agent_events: 1, events: 3 },
  })
  const found = await workerClient.events.query(
    sql`select pathname, country, dense_rank() over (order by visitor_id) as visitor from events where hostname = ${person.hostname} order by pathname`,
  )
  const [a, c, d] = found
  t.match(a, { pathname: '/a', country: null })
  t.equal(a?.visitor, c?.visitor, 'one user agent without an address is one visitor')
  t.not(a?.visitor, d?.visitor, 'another user agent is another')
})
