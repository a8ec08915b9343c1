import { createHash } from 'node:crypto'
import t from 'tap'
import { createImports } from '../../src/manage/imports.js'
import { siteDeletionStatements } from '../../src/manage/sites.js'
import type { Arrival } from '../../src/storage/rows.js'
import { directory } from '../fixtures/files.js'
import { openRecordsAt } from '../fixtures/store.js'

const at = (time: string) => new Date(`2026-11-20T${time}:00Z`)
const arrival = (source: string | null): Arrival => ({
  ...{ entry_page: '/a"\\', referrer: null, source, channel: 'Direct', utm_source: null, utm_medium: null },
  ...{ utm_campaign: null, utm_content: null, utm_term: 'ä 🌊' },
})
const NEW = { format: 'combined', created_at: at('10:00'), total: 2 ** 40 }

t.test('imports, the sessions that they moved, and their secret', async (t) => {
  const records = await openRecordsAt(directory(t))
  t.teardown(() => records.close())
  let secrets = 0
  const imports = createImports(records, (bytes) =>
    createHash('sha512').update(`${++secrets}`).digest().subarray(0, bytes),
  )
  t.equal(await imports.secret(), undefined, 'no import, no secret')
  const first = await imports.create({ site: 1, source: 'access.log', ...NEW })
  const secret = await imports.secret()
  t.equal(Buffer.from(secret ?? '', 'base64').length, 32)
  t.strictSame(first, {
    ...{
      id: 1,
      site: 1,
      state: 'running',
      reason: null,
      source: 'access.log',
      ended_at: null,
      first_at: null,
      last_at: null,
    },
    ...{ lines: 0, broken: 0, skipped: 0, data_lines: 0, known: 0, human: 0, agent: 0, own_salts: false },
    ...{ done: 0, ...NEW },
  })
  const second = await imports.create({ site: 1, source: '-', ...NEW, format: null, total: null })
  const other = await imports.create({ site: 2, source: 'b', ...NEW })
  t.same([second.id, other.id, await imports.secret()], [2, 3, secret], 'the next ones have the same secret')
  await imports.update(2, { state: 'done', ended_at: at('11:00'), lines: 2 ** 33, own_salts: true })
  await imports.update(2, {})
  t.strictSame(
    await imports.list(1),
    [{ ...second, state: 'done', ended_at: at('11:00'), lines: 2 ** 33, own_salts: true }, first],
    'those of a site, the latest first',
  )
  t.strictSame(await imports.get(1, 1), first)
  t.equal(await imports.get(2, 1), undefined, 'an import of another site')

  const session = (n: number, source: string | null = 's') => ({
    ...{ session_id: 2n ** 64n - BigInt(n), session_start: new Date(+at('08:00') + n), arrival: arrival(source) },
  })
  const many = Array.from({ length: 1_002 }, (_, n) => session(n + 1))
  await imports.addSessions(first, many)
  await imports.addSessions(second, [session(2, 'another'), session(3_000, null)])
  await imports.addSessions(other, [session(1, 'other site')])
  await imports.addSessions(other, [])
  const read = async (site: number) => {
    const found = await imports.readSessions(site, session(2).session_start, session(3_000).session_start)
    return found.sort((a, b) => +a.session_start - +b.session_start)
  }
  t.strictSame(await read(1), [...many.slice(1), session(3_000, null)], 'within a span, as they were noted first')
  t.strictSame(await read(2), [])
  await imports.forgetSessions(2, () => true)
  await imports.forgetSessions(
    1,
    ({ session_id, session_start }) => session_start > session(2).session_start && session_id > 2n ** 64n - 3_000n,
  )

  await imports.delete(first)
  t.strictSame(await read(1), [session(2), session(3_000, null)], 'they stay while the site has an import')
  await imports.delete(second)
  t.same([await read(1), await imports.list(1), await imports.secret()], [[], [], secret])
  await records.write(...siteDeletionStatements({ id: 2, domains: [] }, at('12:00')))
  t.same([await imports.list(2), await imports.readSessions(2, at('00:00'), at('23:00'))], [[], []], 'a deleted site')
  t.equal(await imports.secret(), undefined, 'the secret goes with the last import')
  t.not((await imports.create({ site: 3, source: 'c', ...NEW })).id, 1, 'an id is not given again')
  t.not(await imports.secret(), secret)
})
