import t from 'tap'
import type { ResultRow } from '../../src/storage/store.js'
import { openSites } from '../../src/worker/sites.js'

const site = (domain: string): ResultRow => ({
  ...{ id: 1, domains: JSON.stringify([domain]), timezone: 'UTC', respect_gpc: false, visitor_salt: 'month' },
  ...{ excluded_paths: '[]', origin: null, managed_robots: null },
})

t.test('of two concurrent reloads the one that began last wins', async (t) => {
  const asked: ((rows: ResultRow[]) => void)[] = []
  const opened = openSites({ query: () => new Promise((resolve) => asked.push(resolve)) })
  asked[0]?.([site('first.example')])
  const sites = await opened
  // After two writes: the first reload reads the file before the second write, and finishes later.
  const looks = [sites.reload(), sites.reload()]
  asked[2]?.([site('third.example')])
  await looks[1]
  asked[1]?.([site('second.example')])
  await looks[0]
  t.equal(sites.siteOf('third.example')?.id, 1)
  t.equal(sites.siteOf('second.example'), undefined)
  t.strictSame(sites.siteById(1)?.domains, ['third.example'])

  const [failed, good] = [sites.reload(), sites.reload()]
  asked[4]?.([])
  asked[3]?.([{ id: 'no site' }])
  await good
  await t.rejects(failed)
  t.equal(sites.siteById(1), undefined, 'there is none any more')
})
