import t from 'tap'
import { loadCatalog } from '../../../src/agents/catalog.js'
import { createRules, NewRule, normaliseRule } from '../../../src/manage/rules.js'
import { sql } from '../../../src/storage/sql.js'
import { deed } from '../../fixtures/audit-context.js'
import { copySite } from '../../fixtures/copy-site.js'
import { CATALOG, DAY, MINUTE, NOW, openNotes } from '../../fixtures/notes.js'

t.test('a changed robots.txt or llms.txt is a note', async (t) => {
  type Version = [hostname: string, kind: 'robots' | 'llms', minute: number, status: number, sha256: string]
  const host = 'example.com'
  const rows: [versions: Version[], notes: string[], why: string][] = [
    [[[host, 'robots', -9, 200, 'a']], [], 'the first version ever'],
    [
      [
        [host, 'robots', -9, 200, 'a'],
        [host, 'robots', -5, 200, 'b'],
      ],
      ['policy_changed -5 robots.txt of example.com changed'],
      'changed',
    ],
    [
      [
        [host, 'llms', -9, 404, ''],
        [host, 'llms', -5, 200, 'b'],
      ],
      ['policy_changed -5 llms.txt of example.com was added'],
      'added',
    ],
    [
      [
        [host, 'robots', -9, 200, 'a'],
        [host, 'robots', -5, 410, ''],
      ],
      ['policy_changed -5 robots.txt of example.com was removed'],
      'removed',
    ],
    [
      [
        [host, 'robots', -9, 404, ''],
        [host, 'robots', -5, 403, ''],
      ],
      [],
      'missing in another way',
    ],
    [
      [
        [host, 'robots', -9, 200, 'a'],
        [host, 'robots', -7, 503, ''],
        [host, 'robots', -5, 200, 'a'],
      ],
      [],
      'out of reach',
    ],
    [
      [
        [host, 'robots', -9, 200, 'a'],
        [host, 'robots', -7, 200, 'b'],
        [host, 'robots', -5, 200, 'a'],
      ],
      ['policy_changed -7 robots.txt of example.com changed', 'policy_changed -5 robots.txt of example.com changed'],
      'there and back',
    ],
    [
      [
        ['x.example', 'robots', -9, 200, 'a'],
        ['x.example', 'robots', -5, 200, 'b'],
      ],
      [],
      'of no site',
    ],
    [
      [
        [host, 'robots', -3000, 200, 'a'],
        [host, 'robots', -1500, 200, 'b'],
      ],
      [],
      'more than a day ago',
    ],
  ]
  const { records, pass, list, restart } = await openNotes(t)
  for (const [i, [versions, notes, why]] of rows.entries()) {
    // A day and a host of its own for each row.
    const day = NOW + i * DAY
    for (const [hostname, kind, minute, status, sha256] of versions)
      await records.write(sql`insert into policies (hostname, kind, status, sha256, first_seen)
        values (${`${i}.${hostname}`}, ${kind}, ${status}, ${sha256}, ${new Date(day + minute * MINUTE)})`)
    await pass(day)
    await pass(day + 1)
    restart()
    await pass(day + 2)
    t.same(
      (await list(day)).map((note) => note.replace(`${i}.`, '')),
      notes,
      why,
    )
  }
})

t.test('a rule that was on until its end is a note, once', async (t) => {
  const { records, pass, list, restart } = await openNotes(t)
  const rules = createRules(records, loadCatalog())
  const rows: [
    name: string,
    fields: { changed?: number; state: string; until?: string | undefined },
    noted: boolean,
    why: string,
  ][] = [
    ['on', { state: 'on' }, true, 'it was on'],
    ['rehearsed', { state: 'rehearse' }, false, 'it changed nothing on the site'],
    ['off', { state: 'off' }, false, 'it was off'],
    ['later', { state: 'on', until: new Date(NOW + 11 * MINUTE).toISOString() }, false, 'its end is later'],
    ['endless', { state: 'on', until: undefined }, false, 'it has no end'],
    ['ended', { state: 'on', changed: NOW + 30 * MINUTE }, false, 'it was switched on after its end'],
  ]
  const until = new Date(NOW + 10 * MINUTE).toISOString()
  for (const [name, { changed = NOW, ...fields }] of rows)
    await rules.create(
      normaliseRule(NewRule.parse({ site: 1, name, agents: ['gptbot'], action: 'block', until, ...fields }), {
        ...{ changed_at: new Date(changed), changed_by: { name: 'operator' } },
      }),
      { ...deed, at: new Date(NOW) },
    )
  restart()
  const ended = async () => (await list()).filter((note) => note.includes('has ended'))
  await pass(NOW + 10 * MINUTE - 1)
  t.same(await ended(), [], 'a millisecond before')
  await pass(NOW + 10 * MINUTE)
  const expected = rows.flatMap(([name, , noted]) => (noted ? [`rule_changed 10 Rule “${name}” has ended`] : []))
  t.same(await ended(), expected)
  await pass(NOW + 10 * MINUTE + 1)
  restart()
  await pass(NOW + 10 * MINUTE + 2)
  t.same(await ended(), expected, 'once, also after a restart')
})

t.test('the records are read once a minute, and at once after a change of the policy', async (t) => {
  const { records, pass, policyChanged, list } = await openNotes(t)
  await pass(NOW)
  for (const minute of [-9, -5])
    await records.write(sql`insert into policies (hostname, kind, status, sha256, first_seen)
      values ('a.example.com', 'robots', 200, ${`${minute}`}, ${new Date(NOW + minute * MINUTE)})`)
  const note = 'policy_changed -5 robots.txt of a.example.com changed'
  const noted = async () => (await list()).includes(note)
  await pass(NOW + MINUTE - 1)
  t.notOk(await noted(), 'the last look was less than a minute ago')
  policyChanged()
  await pass(NOW + MINUTE - 1)
  t.ok(await noted(), 'the worker told of the change')
})

t.test('a time without readership is a note on each site that was there', async (t) => {
  const { state, records, pass, list, annotations, restart } = await openNotes(t)
  const at = (minute: number) => new Date(NOW + minute * MINUTE)
  await records.write(copySite(2, {}), sql`update sites set created_at = ${at(-60)} where id = 2`)
  // Minutes at which a process started, and until which it recorded.
  const runs: [start: number, end: number, notes: string[], why: string][] = [
    [-900, -300, [], 'the first start'],
    [-99.8, -50, ['not_recorded -300 Nothing was recorded for 3 h 20 min'], 'rounded to minutes'],
    [-40.5, -39, [], 'a short gap'],
    [-20, -20, ['not_recorded -39 Nothing was recorded for 19 min'], 'the end of the last process counts'],
    [-10, -5, [], 'a process that recorded nothing leaves the gap as it was noted'],
  ]
  const expected: string[] = []
  for (const [start, end, notes, why] of runs) {
    state.started = at(start)
    restart()
    await pass(at(start).getTime())
    if (end > start) await records.write(sql`insert into recorded (began, ended) values (${at(start)}, ${at(end)})`)
    await pass(at(start).getTime() + MINUTE)
    expected.push(...notes)
    t.same(await list(), expected, why)
  }
  t.match((await annotations().list(1))[0]?.data, { start: at(-300).toISOString(), end: at(-99.8).toISOString() })
  t.equal((await annotations().list(2)).length, 1, 'a site that was created later has the last one alone')
})

t.test('another catalogue of agents is a note, unlike the first one', async (t) => {
  const { state, pass, restart, annotations } = await openNotes(t)
  const starts: [version: string, notes: number][] = [
    ['1', 0],
    ['1', 0],
    ['2', 1],
    ['2', 1],
    ['1', 1],
    ['3', 2],
  ]
  for (const [i, [version, notes]] of starts.entries()) {
    state.catalog = { ...CATALOG, version }
    restart()
    await pass(NOW + i * DAY)
    t.equal((await annotations().list(1)).length, notes, `start ${i + 1}`)
  }
  t.match((await annotations().list(1))[0], {
    ...{ name: 'The catalogue of agents was updated to 2', data: { version: '2', before: { version: '1' } } },
  })
})
