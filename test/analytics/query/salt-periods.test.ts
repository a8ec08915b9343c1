import t from 'tap'
import { type Recording, recordedSpan } from '../../../src/analytics/query/recording.js'
import { changesSalt, separatesVisitors } from '../../../src/analytics/query/salt-periods.js'

const at = (text: string) => new Date(`2026-11-${text}Z`)
const window = (start: string, end: string) => ({ start: at(start), end: at(end) })
const gap = (start: string, end: string) => ({ ...window(start, end), reason: 'not_running' as const })
const NOW = at('27T13:00')
const MONTH = window('01T00:00', '28T00:00')

t.test('the salt changes in a window only between two recorded times', async (t) => {
  const cases: [Recording, ReturnType<typeof window>, 'day' | 'week' | 'month' | 'never', boolean, string][] = [
    [{ since: at('27T09:00'), gaps: [] }, MONTH, 'day', false, 'recorded since today'],
    [{ since: at('26T23:59'), gaps: [] }, MONTH, 'day', true, 'recorded since yesterday'],
    [{ since: at('26T23:59'), gaps: [] }, MONTH, 'week', false, 'both days are in one week'],
    [{ since: at('22T12:00'), gaps: [] }, MONTH, 'week', true, 'since Sunday: Monday has another salt'],
    [{ since: at('01T00:00'), gaps: [] }, MONTH, 'month', false, 'one month'],
    [{ since: at('01T00:00'), gaps: [] }, MONTH, 'never', false, 'the salt stays'],
    [{ since: undefined, gaps: [] }, MONTH, 'day', false, 'nothing is recorded'],
    [{ since: at('01T00:00'), gaps: [gap('01T00:00', '27T00:00')] }, MONTH, 'day', false, 'a gap until today'],
    [
      { since: at('01T00:00'), gaps: [gap('01T00:00', '10T00:00'), gap('10T12:00', '27T00:00')] },
      ...([MONTH, 'day', true] as const),
      'half a day between two gaps',
    ],
    [{ since: at('26T10:00'), gaps: [gap('26T22:00', '27T13:00')] }, MONTH, 'day', false, 'a gap since yesterday'],
    [{ since: at('20T00:00'), gaps: [] }, window('26T00:00', '27T00:00'), 'day', false, 'the end is exclusive'],
    [{ since: at('20T00:00'), gaps: [] }, window('27T00:00', '29T00:00'), 'day', false, 'tomorrow is not recorded'],
  ]
  for (const [recording, time, salt, expected, why] of cases)
    t.equal(changesSalt(recordedSpan(recording, time, NOW), salt), expected, `${salt}: ${why}`)
})

t.test('two times have different visitors if most of them has another salt', async (t) => {
  const cases: [ReturnType<typeof window>, ReturnType<typeof window>, 'day' | 'week' | 'month', boolean, string][] = [
    [window('02T23:00', '03T23:00'), window('03T23:00', '04T23:00'), 'day', true, 'days of Berlin'],
    [window('02T23:00', '03T23:00'), window('03T23:00', '04T23:00'), 'week', false, 'days of one week'],
    [window('07T23:00', '08T23:00'), window('08T23:00', '09T23:00'), 'week', true, 'Sunday and Monday of Berlin'],
    [window('01T00:00', '08T00:00'), window('22T00:00', '29T00:00'), 'month', false, 'weeks of one month'],
  ]
  for (const [a, b, salt, expected, why] of cases) t.equal(separatesVisitors(a, b, salt), expected, `${salt}: ${why}`)
})
