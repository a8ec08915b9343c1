import t from 'tap'
import {
  AlertState,
  alertWindow,
  lastCompleteMinute,
  nextAlertState,
  quietPeriodMs,
} from '../../../src/manage/notify/alert-evaluator.js'

const HOUR = 3_600_000
const MINUTE = 60_000

t.test('fires on entering, ends after two calm evaluations, and keeps quiet for an hour', (t) => {
  // One letter per minute. t and f are verdicts, - is unknown; below it the event: F, R, or a dot.
  const cases: [verdicts: string, event: string, why: string][] = [
    ['ffff', '....', 'a condition that does not hold sends nothing'],
    ['fttt', '.F..', 'entering fires, staying does not'],
    ['tfft', 'F.R.', 'after it resolves it is quiet'],
    ['tftft', 'F....', 'one calm evaluation ends nothing'],
    ['tff', 'F.R', 'two calm evaluations resolve it'],
    ['t-f-f', 'F...R', 'what cannot be computed neither ends it nor keeps it'],
    ['-----', '.....', 'what cannot be computed fires nothing'],
    ['tf-t-f', 'F.....', 'the two calm verdicts must be consecutive'],
    [`tff${'t'.repeat(59)}`, `F.R${'.'.repeat(57)}F.`, 'true again, it fires once when the hour is over'],
  ]
  for (const [verdicts, event, why] of cases) {
    let state = AlertState.parse({})
    const heard = [...verdicts].map((v, i) => {
      const verdict = v === '-' ? undefined : v === 't'
      const next = nextAlertState(state, verdict, { at: i * MINUTE, quiet: HOUR, moment: false })
      state = next.state
      return next.event === undefined ? '.' : next.event === 'fired' ? 'F' : 'R'
    })
    t.equal(heard.join(''), event, why)
  }
  t.end()
})

t.test('a one-off alert is sent once and never resolves', (t) => {
  let state = AlertState.parse({})
  const event: string[] = []
  for (let i = 0; i < 125; i++) {
    const next = nextAlertState(state, i !== 61, { at: i * MINUTE, quiet: HOUR, moment: true })
    state = next.state
    if (next.event) event.push(`${next.event} ${i}`)
  }
  t.same(event, ['fired 0', 'fired 60', 'fired 120'])
  t.end()
})

t.test('a clock that jumps causes no flood', (t) => {
  let state = AlertState.parse({})
  const at = Date.UTC(2026, 10, 21, 10)
  const jumps = [0, 24 * HOUR, -24 * HOUR, 24 * HOUR, 0]
  const event = jumps.map((jump, i) => {
    const next = nextAlertState(state, true, { at: at + jump + i * MINUTE, quiet: HOUR, moment: false })
    state = next.state
    return next.event
  })
  t.same(event, ['fired', undefined, undefined, undefined, undefined], 'it still holds and fired once')
  t.end()
})

t.test('windows end at a full minute, one minute late', (t) => {
  const ends: [now: string, end: string][] = [
    ['2026-11-21T10:05:00.000Z', '2026-11-21T10:04:00.000Z'],
    ['2026-11-21T10:05:59.999Z', '2026-11-21T10:04:00.000Z'],
    ['2026-11-21T10:06:00.000Z', '2026-11-21T10:05:00.000Z'],
  ]
  for (const [now, end] of ends) t.equal(new Date(lastCompleteMinute(new Date(now))).toISOString(), end, now)
  t.equal(quietPeriodMs(5), HOUR)
  t.equal(quietPeriodMs(1_440), 24 * HOUR)

  const end = Date.UTC(2026, 10, 21, 10)
  const cases: [kind: 'threshold' | 'new_agent', fired: number | undefined, minutes: number, why: string][] = [
    ['threshold', undefined, 30, 'a threshold has its own length'],
    ['threshold', end - 10 * MINUTE, 30, 'a threshold keeps its length after it fired'],
    ['new_agent', undefined, 30, 'a new agent has the same length'],
    ['new_agent', end - 10 * MINUTE, 10, 'fetches that were reported are left out'],
    ['new_agent', end - 60 * MINUTE, 60, 'fetches of the quiet hour are included'],
    ['new_agent', end - 90 * MINUTE, 30, 'after the quiet hour the length is the same again'],
    ['new_agent', end + 90 * MINUTE, 30, 'the same length if the clock went back'],
  ]
  for (const [kind, fired, minutes, why] of cases) {
    const window = alertWindow({ kind, window_minutes: 30 }, end, fired)
    t.same([window.start.getTime(), window.end.getTime()], [end - minutes * MINUTE, end], why)
  }
  t.end()
})
