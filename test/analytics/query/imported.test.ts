import t from 'tap'
import { addImports, type ImportedTime, noteImportedVisitors } from '../../../src/analytics/query/imported.js'

const at = (hour: number) => new Date(Date.UTC(2026, 9, 1, hour))
const time = (start: number, end: number) => ({ start: at(start), end: at(end) })
const imported = (start: number, end: number, own_salts = false): ImportedTime => ({
  time: time(start, end),
  own_salts,
})
const gap = (start: number, end: number) => ({ ...time(start, end), reason: 'not_running' as const })

t.test('logs fill gaps', async (t) => {
  const cases: [ImportedTime[], ReturnType<typeof gap>[], string][] = [
    [[], [gap(4, 8)], 'no log'],
    [[imported(0, 4)], [gap(4, 8)], 'a log that ends where the gap begins'],
    [[imported(3, 9)], [], 'a log of more than the gap'],
    [[imported(4, 8)], [], 'a log of exactly the gap'],
    [[imported(3, 6)], [gap(6, 8)], 'its beginning'],
    [[imported(6, 9)], [gap(4, 6)], 'its end'],
    [[imported(5, 6)], [gap(4, 5), gap(6, 8)], 'its middle'],
    [[imported(3, 6), imported(7, 9)], [gap(6, 7)], 'two logs'],
  ]
  const early = addImports({ since: at(5), gaps: [] }, [imported(2, 3), imported(6, 7)])
  t.same(early, { since: at(2), gaps: [] }, 'a log from before the first row that is known')
  const recording = { since: at(5), gaps: [gap(7, 8)], began: at(6) }
  t.same(
    addImports(recording, [imported(1, 2), imported(3, 4)]),
    { ...recording, since: at(1), gaps: [gap(2, 3), gap(4, 6), gap(7, 8)] },
    'between logs, and between the last one and the first start, nothing is known',
  )
  t.same(addImports(recording, []), recording, 'without logs nothing changes')
  for (const [imports, gaps, why] of cases)
    t.same(addImports({ since: at(0), gaps: [gap(4, 8)] }, imports), { since: at(0), gaps }, why)
})

t.test('a window of visitors with ids of their own says so', async (t) => {
  const cases: [ImportedTime[], [number, number] | undefined, string][] = [
    [[], undefined, 'no import'],
    [[imported(4, 8)], undefined, 'its visitors have the ids of recorded ones'],
    [[imported(4, 8, true)], [4, 8], 'it lies in the window'],
    [[imported(0, 2, true)], [0, 2], 'it ends with the first instant of the window'],
    [[imported(0, 1, true)], undefined, 'it ends before the window'],
    [[imported(10, 12, true)], undefined, 'it begins at the end of the window, which is exclusive'],
    [[imported(6, 8, true), imported(3, 4, true), imported(1, 9)], [3, 8], 'several, of which two have such ids'],
  ]
  for (const [imports, found, why] of cases) {
    const note = noteImportedVisitors(imports, { window: time(2, 10) })
    t.equal(note?.code, found && 'imported_visitors', why)
    t.strictSame(
      noteImportedVisitors(imports, { window: time(20, 21), comparison: time(2, 10) }),
      note,
      `${why}, compared with`,
    )
    if (found) t.match(note?.message, `from ${at(found[0]).toISOString()} to ${at(found[1]).toISOString()}`, why)
  }
})
