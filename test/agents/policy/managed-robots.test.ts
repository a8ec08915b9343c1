import t from 'tap'
import { sql } from '../../../src/storage/sql.js'
import { fileResponse, START, setUpMonitor } from '../../fixtures/policy-monitor.js'

t.test('requests are judged by the managed robots.txt while readership serves one', async (t) => {
  const { table, requests, clock, open } = await setUpMonitor(t, { domains: ['example.com'] })
  table.set('example.com/robots.txt', fileResponse('User-agent: *\nDisallow: /origin\n'))
  const { monitor, records } = await open()
  const tick = async () => {
    clock.at += 1_000
    await monitor.tick()
  }
  const judged = (path: string) => monitor.judge.judge('example.com', undefined, path, clock.at).robots_allowed
  const fetchesOfFile = () => requests.filter(({ key }) => key === 'example.com/robots.txt').length
  await tick()
  t.strictSame([judged('/origin'), judged('/managed')], [false, true], 'the origin’s')
  const asked = fetchesOfFile()

  const text = 'User-agent: *\nDisallow: /managed\n'
  await records.write(
    sql`insert into robots_texts (id, site, text) values (5, 1, ${text})`,
    sql`update sites set managed_robots = 5`,
  )
  await tick()
  t.strictSame([judged('/origin'), judged('/managed')], [true, false], 'the managed one, from the next second on')
  t.match(monitor.files('example.com')?.robots.versions, [{}, { body: text, status: 200 }], 'a version of its own')
  t.equal(fetchesOfFile(), asked, 'the origin is not asked for it')
  clock.at += 3_600_000
  table.set('example.com/robots.txt', fileResponse('User-agent: *\nDisallow: /\n'))
  await tick()
  t.strictSame([judged('/origin'), judged('/managed')], [true, false], 'the origin’s changes do not matter')
  t.ok((monitor.files('example.com')?.robots.versions.at(-1)?.last_seen ?? 0) > START + 3_600_000, 'it stays known')

  await records.write(sql`update sites set managed_robots = null`)
  await tick()
  t.strictSame([judged('/origin'), judged('/managed')], [false, false], 'the origin’s as it is now')
  await monitor.close()
})
