import t from 'tap'
import { DAY, MINUTE, NOW, openNotes } from '../../fixtures/notes.js'

/** Responses of one minute: `ok` without and `errors` with status 502. */
const minute = (n: number, ok: number, errors: number) => ({
  ...{ at: NOW + n * MINUTE, responses: ok + errors, statuses: errors > 0 ? { 502: errors } : {} },
})

t.test('a burst of server errors is one note, until it was calm for half an hour', async (t) => {
  /** Passes at a minute with `ok` and `errors` of that minute; the notes that are there in the end. */
  type Pass = [minute: number, ok: number, errors: number]
  const rows: [passes: Pass[], notes: string[], why: string][] = [
    [[[0, 0, 19]], [], 'too few'],
    [[[0, 0, 20]], ['server_errors 0 20 of 20 responses had a 5xx status'], 'enough'],
    [[[0, 181, 20]], [], 'a small share: 20 of 201'],
    [[[0, 180, 20]], ['server_errors 0 20 of 200 responses had a 5xx status'], 'a tenth'],
    [
      [
        [0, 0, 10],
        [4, 5, 10],
      ],
      ['server_errors 0 20 of 25 responses had a 5xx status'],
      'within five minutes',
    ],
    [
      [
        [0, 0, 10],
        [6, 5, 10],
      ],
      [],
      'not within five minutes',
    ],
    [
      [
        [0, 9, 0],
        [1, 0, 20],
        [2, 4, 6],
      ],
      ['server_errors 1 26 of 30 responses had a 5xx status'],
      'it begins with an error',
    ],
    [
      [
        [0, 0, 20],
        [1, 50, 0],
        [30, 0, 25],
      ],
      ['server_errors 0 45 of 95 responses had a 5xx status'],
      'again after 29 minutes: the same burst',
    ],
    [
      [
        [0, 0, 20],
        [10, 50, 0],
        [31, 7, 0],
        [33, 0, 25],
        [40, 1, 0],
      ],
      ['server_errors 0 20 of 20 responses had a 5xx status', 'server_errors 33 25 of 25 responses had a 5xx status'],
      'after half an hour another',
    ],
    [
      [
        [0, 0, 20],
        [6, 100, 1],
        [20, 100, 3],
        [50, 0, 1],
      ],
      ['server_errors 0 20 of 20 responses had a 5xx status'],
      'a few errors do not prolong it',
    ],
  ]
  const { pass, list } = await openNotes(t)
  for (const [i, [passes, notes, why]] of rows.entries()) {
    // A day of its own for each row.
    const day = i * DAY
    for (const [n, ok, errors] of passes)
      await pass(NOW + day + n * MINUTE + 5_000, {
        minutes: [{ ...minute(n, ok, errors), at: NOW + day + n * MINUTE }],
      })
    t.same(await list(NOW + day), notes, why)
  }
})

t.test('counts of a burst grow in its note, also over a restart, and a deleted note stays deleted', async (t) => {
  const { pass, list, restart, annotations } = await openNotes(t)
  await pass(NOW + 10_000, { minutes: [minute(0, 0, 15)] })
  await pass(NOW + 20_000, { minutes: [minute(0, 4, 15)] })
  await pass(NOW + 30_000, { minutes: [minute(0, 6, 10)] })
  t.same(await list(), ['server_errors 0 30 of 34 responses had a 5xx status'], 'written once a minute')
  await pass(NOW + 80_000, { minutes: [minute(1, 0, 0)] })
  t.same(await list(), ['server_errors 0 40 of 50 responses had a 5xx status'])
  restart()
  await pass(NOW + 3 * MINUTE, {
    minutes: [minute(2, 0, 20), { ...minute(2, 0, 0), responses: 1, statuses: { 504: 1 } }],
  })
  const [note] = await annotations().list(1)
  t.match(note, {
    name: '61 of 71 responses had a 5xx status',
    data: {
      start: new Date(NOW).toISOString(),
      end: new Date(NOW + 3 * MINUTE).toISOString(),
      ...{ errors: 61, responses: 71, statuses: { 502: 60, 504: 1 } },
    },
  })
  const by = { by: { kind: 'operator', name: 'operator' }, org: 1, at: new Date(NOW) } as const
  await annotations().delete(note?.id ?? 0, by)
  await pass(NOW + 5 * MINUTE, { minutes: [minute(4, 0, 30)] })
  restart()
  await pass(NOW + 6 * MINUTE, { minutes: [minute(5, 0, 30)] })
  t.same(await list(), [])
})
