import t from 'tap'
import { DAY, MINUTE, NOW, openNotes } from '../../fixtures/notes.js'
import { editionRow, eventRow } from '../../fixtures/rows.js'

const time = (minute: number) => new Date(NOW + minute * MINUTE)
/** A page of 900 characters until minute -20, and what it is since then. */
const changed = (pathname: string, now: Parameters<typeof editionRow>[0], before: typeof now = {}) => {
  const page = { pathname, samples: 2 }
  return [
    editionRow({ ...page, first_seen: time(-90), replaced_at: time(-20), text_length: 900, ...before }),
    editionRow({ ...page, first_seen: time(-20), prior_seen: time(-30), ...now }),
  ]
}
const view = (pathname: string, days = 1) =>
  eventRow({ timestamp: new Date(NOW - days * DAY), hostname: 'example.com', pathname, kind: 'pageview' })
const EMPTY = { text_length: 9, headings: 0 }
const A = 'blank_page -20 Blank to machines: /a'

t.test('a page that people read and that becomes blank to machines is a note', async (t) => {
  const CASES: [editions: ReturnType<typeof changed>, views: string[], notes: string[], why: string][] = [
    [changed('/a', EMPTY), ['/a'], [`${A} has no text without scripts`], 'an empty shell'],
    [changed('/a', { notice: 'not_found' }), ['/a'], [`${A} says "not found" with status 200`], 'a soft 404'],
    [changed('/a', { notice: 'consent' }), ['/a'], [`${A} asks for consent first`], 'a consent wall'],
    [changed('/a', { notice: 'challenge' }), ['/a'], [`${A} asks for a proof first`], 'a challenge'],
    [
      changed('/a', { text_length: 150, living_seen: time(-5), living_text_length: 750 }),
      ['/a'],
      [`${A} has no text without scripts`],
      'a browser shows five times as much',
    ],
    [
      ['/a', '/b', '/c'].flatMap((path) => changed(path, EMPTY)),
      ['/a', '/b', '/b', '/other'],
      ['blank_page -20 Blank to machines: /b has no text without scripts, like 1 more'],
      'pages of one deployment share a note, the most read first; those without readers have none',
    ],
    [changed('/a', EMPTY), [], [], 'a page without readers'],
    [changed('/a', { ...EMPTY, samples: 1 }), ['/a'], [], 'one sample may be chance'],
    [changed('/a', { text_length: 300 }), ['/a'], [], 'another text'],
    [changed('/a', EMPTY, EMPTY), ['/a'], [], 'it was blank before'],
    [changed('/a', EMPTY, { notice: 'consent' }), ['/a'], [], 'it was blank before in another way'],
    [[editionRow({ pathname: '/a', ...EMPTY, samples: 9 })], ['/a'], [], 'blank at its first sample'],
  ]
  for (const [editions, views, notes, why] of CASES)
    await t.test(why, async (t) => {
      const { commit, pass, list, restart, writePageEditions } = await openNotes(t)
      await writePageEditions({ put: editions, remove: [] })
      await commit({ events: views.map((path) => view(path)) })
      for (let n = 0; n < 3; n++) {
        await pass(NOW + n * 11 * MINUTE)
        if (n === 1) restart()
      }
      t.same(await list(), notes)
    })
})

t.test('notes about blank pages are looked for each ten minutes, and are five a day at most', async (t) => {
  const { commit, pass, list, writePageEditions, annotations } = await openNotes(t)
  await commit({ events: [view('/late', 8), ...[0, 1, 2, 3, 4, 5, 6].map((n) => view(`/${n}`))] })
  const put = (pathname: string) => writePageEditions({ put: changed(pathname, EMPTY), remove: [] })
  await put('/late')
  await pass(NOW)
  t.same(await list(), [], 'people read it before the last seven days')
  await put('/0')
  await pass(NOW + 9 * MINUTE)
  t.same(await list(), [], 'not yet')
  for (let n = 0; n < 7; n++) {
    await put(`/${n}`)
    await pass(NOW + (10 + n * 10) * MINUTE)
  }
  t.equal((await list()).length, 5)
  t.match((await annotations().list(1))[0], { kind: 'blank_page', data: { hostname: 'example.com' } })
})
