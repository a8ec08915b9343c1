import t from 'tap'
import { createReadDependencies } from '../../../src/api/reads.js'
import { createOutbox } from '../../../src/manage/notify/notices.js'
import { ReportNotice, reportMail } from '../../../src/manage/notify/report-mail.js'
import { lastEndedPeriod } from '../../../src/manage/notify/report-period.js'
import { createReportScheduler } from '../../../src/manage/notify/report-scheduler.js'
import { bootstrap } from '../../../src/manage/orgs.js'
import { createReports } from '../../../src/manage/reports.js'
import { createSites } from '../../../src/manage/sites.js'
import { sql } from '../../../src/storage/sql.js'
import type { Store } from '../../../src/storage/store.js'
import { deed } from '../../fixtures/audit-context.js'
import { createInProcessEngine } from '../../fixtures/in-process-worker.js'
import { agentRow, eventRow } from '../../fixtures/rows.js'

t.test('finds the week or month that has ended in the time zone', (t) => {
  const [berlin, utc] = ['Europe/Berlin', 'UTC']
  const cases: [
    period: 'weekly' | 'monthly',
    now: string,
    tz: string,
    days: string,
    start: string,
    end: string,
    why: string,
  ][] = [
    [
      'weekly',
      '2026-11-23T06:00Z',
      utc,
      '2026-11-16 to 2026-11-22',
      '2026-11-16T00:00',
      '2026-11-23T00:00',
      'Monday at six',
    ],
    [
      'weekly',
      '2026-11-23T05:59Z',
      utc,
      '2026-11-09 to 2026-11-15',
      '2026-11-09T00:00',
      '2026-11-16T00:00',
      'before it the one before',
    ],
    [
      'weekly',
      '2026-11-29T23:59Z',
      utc,
      '2026-11-16 to 2026-11-22',
      '2026-11-16T00:00',
      '2026-11-23T00:00',
      'and all week',
    ],
    [
      'monthly',
      '2026-12-01T06:00Z',
      utc,
      '2026-11-01 to 2026-11-30',
      '2026-11-01T00:00',
      '2026-12-01T00:00',
      'the first at six',
    ],
    [
      'monthly',
      '2026-12-01T05:00Z',
      utc,
      '2026-10-01 to 2026-10-31',
      '2026-10-01T00:00',
      '2026-11-01T00:00',
      'before it',
    ],
    [
      'monthly',
      '2027-01-15T12:00Z',
      utc,
      '2026-12-01 to 2026-12-31',
      '2026-12-01T00:00',
      '2027-01-01T00:00',
      'over the year',
    ],
    [
      'weekly',
      '2026-03-30T04:00Z',
      berlin,
      '2026-03-23 to 2026-03-29',
      '2026-03-22T23:00',
      '2026-03-29T22:00',
      'six in summer, a week of 167 hours',
    ],
    [
      'weekly',
      '2026-03-30T03:59Z',
      berlin,
      '2026-03-16 to 2026-03-22',
      '2026-03-15T23:00',
      '2026-03-22T23:00',
      'and not at five',
    ],
    [
      'weekly',
      '2026-10-26T05:00Z',
      berlin,
      '2026-10-19 to 2026-10-25',
      '2026-10-18T22:00',
      '2026-10-25T23:00',
      'six in winter, a week of 169',
    ],
    [
      'weekly',
      '2026-10-26T04:59Z',
      berlin,
      '2026-10-12 to 2026-10-18',
      '2026-10-11T22:00',
      '2026-10-18T22:00',
      'and not at five',
    ],
    // The clocks of this island change on Sundays at midnight: 1 November 2026 has 25 hours and 04:59 UTC is its 00:59.
    [
      'monthly',
      '2026-11-01T10:59Z',
      'America/Havana',
      '2026-09-01 to 2026-09-30',
      '2026-09-01T04:00',
      '2026-10-01T04:00',
      'a night that is long',
    ],
    [
      'monthly',
      '2026-11-01T11:00Z',
      'America/Havana',
      '2026-10-01 to 2026-10-31',
      '2026-10-01T04:00',
      '2026-11-01T04:00',
      'ends at six by the clock',
    ],
  ]
  for (const [period, now, tz, days, start, end, why] of cases) {
    const ended = lastEndedPeriod(period, new Date(now), tz)
    const got = [ended.days, ended.start.toISOString().slice(0, 16), ended.end.toISOString().slice(0, 16)]
    t.same(got, [days, start, end], `${tz} ${now}: ${why}`)
    t.equal(ended.name, `${period}:${days.slice(0, 10)}`)
  }
  t.end()
})

t.test('a report is sent once a period to each recipient, people and agents side by side', async (t) => {
  const { workerClient, commit } = await createInProcessEngine(t)
  const { records } = workerClient
  let at = new Date('2026-11-20T12:00:00.000Z')
  const now = () => at
  await bootstrap(records, { domains: ['example.com'], timezone: 'Europe/Berlin', now: now() })
  const sites = createSites(records)
  const reports = createReports(records)
  const outbox = createOutbox({ records, random: () => 0.5 })
  const logged: object[] = []
  let meanwhile: (() => Promise<unknown>) | undefined
  const query: Store['query'] = async (...asked) => {
    const before = meanwhile
    meanwhile = undefined
    await before?.()
    return workerClient.events.query(...asked)
  }
  const asks = (signal: AbortSignal) =>
    createReadDependencies(
      { store: { ...workerClient.events, query }, now, catalog: [], sites },
      { principal: { kind: 'operator' }, access: 'stats:read', request: new Request('http://localhost/', { signal }) },
    )
  const create = () =>
    createReportScheduler({
      reports,
      sites,
      records,
      readDependencies: asks,
      now,
      log: (details) => logged.push(details),
      wakeDelivery: () => {},
    })
  let reporting = create()
  const tick = async (time: string) => {
    at = new Date(time)
    await reporting.tick(new AbortController().signal)
    await reporting.tick(new AbortController().signal)
    return (await outbox.list({ report: 1 })).map(({ key }) => key)
  }
  const body = { site: 1, name: 'Monday', period: 'weekly' as const, enabled: true }
  await reports.create({ ...body, recipients: ['a@example.com', 'b@example.com'] }, deed)
  const seen = (day: string, n: number, pathname: string) =>
    Array.from({ length: n }, (_, i) =>
      eventRow({
        ...{ timestamp: new Date(`${day}T12:00:00.000Z`), visitor_id: BigInt(i + 1), pathname, entry_page: pathname },
        session_id: BigInt(Date.parse(day) + i),
      }),
    )
  await commit({
    events: [...seen('2026-11-12', 2, '/'), ...seen('2026-11-18', 3, '/a\u001b[31m')],
    agent_events: [
      agentRow({ timestamp: new Date('2026-11-19T12:00:00.000Z'), verified: true, verification: 'ranges' }),
      agentRow({ timestamp: new Date('2026-11-22T23:30:00.000Z') }),
    ],
  })
  t.same(await tick('2026-11-20T12:00:00.000Z'), [], 'a new report begins with the next period')
  t.same(await tick('2026-11-23T04:59:59.000Z'), [], 'before six in Berlin')
  reporting = create()
  const both = ['b', 'a'].map((who) => `report:1:weekly:2026-11-16:${who}@example.com`)
  t.same(await tick('2026-11-23T05:00:00.000Z'), both)
  t.same(await tick('2026-11-29T05:00:00.000Z'), both, 'each report is sent once')
  t.equal((await reports.get(1)).last_sent, 'weekly:2026-11-16')

  const [row] = await records.query(sql`select payload from notices order by id limit 1`)
  const notice = ReportNotice.parse(JSON.parse(String(row?.payload)))
  t.match(notice.subject, /: 2026-11-16 to 2026-11-22$/)
  t.match(notice.text, /^People +3 {2}\(\+50%\) +Fetches +1$/m, 'people and agents, and the week before')
  t.match(notice.text, /^Bounce rate +100% .*Verified share +100%$/m)
  t.match(notice.text, /^ +Verified +1$/m, 'the count beside the share')
  t.match(notice.text, /^ +3 {2}\/a\?\[31m +1 {2}\/$/m, 'the first hour of Monday in Berlin belongs to the next week')
  t.notOk(notice.text.includes('\u001b'))
  const drawn: string[] = []
  const draw = async (query: URLSearchParams) => {
    drawn.push(query.toString())
    return new Uint8Array([37])
  }
  const mail = await reportMail(notice, { to: 'a@example.com', key: 'k', attempts: 1, draw })
  t.match(mail, {
    to: 'a@example.com',
    key: 'k',
    attachments: [{ filename: 'people-2026-11-16.pdf' }, { filename: 'agents-2026-11-16.pdf' }],
  })
  t.match(
    drawn[0],
    /start=2026-11-15T23%3A00%3A00.000Z&end=2026-11-22T23%3A00%3A00.000Z.*report=overview&audience=human/,
  )
  const fails = async () => Promise.reject(new Error('no font'))
  await t.rejects(reportMail(notice, { to: 'a@example.com', key: 'k', attempts: 3, draw: fails }), {
    message: 'no font',
  })
  const without = await reportMail(notice, { to: 'a@example.com', key: 'k', attempts: 4, draw: fails })
  t.match(without.text, 'The PDF could not be created.')

  t.equal((await tick('2026-12-21T12:00:00.000Z')).length, 4, 'only the last of the missed weeks is sent')
  await reports.change(1, async (now) => ({ ...now, period: 'monthly' }), deed)
  t.equal((await tick('2026-12-21T12:00:00.000Z')).length, 4, 'a changed period begins with its next report')
  await reports.change(1, async (now) => ({ ...now, enabled: false }), deed)
  t.equal((await tick('2027-01-04T12:00:00.000Z')).length, 4, 'disabled')
  await reports.change(1, async (now) => ({ ...now, enabled: true }), deed)
  t.equal((await tick('2027-01-20T12:00:00.000Z')).length, 4, 'and enabled again')
  t.equal((await tick('2027-02-01T12:00:00.000Z')).length, 6)
  const site = await sites.get(1)
  t.equal(site && (await reporting.sendTest(await reports.get(1), site, 'abc')), 2)
  t.equal((await outbox.list({ report: 1 }))[0]?.key, 'test:report:1:abc:b@example.com')

  meanwhile = () => reports.change(1, async (now) => ({ ...now, enabled: false }), deed)
  t.equal((await tick('2027-03-01T12:00:00.000Z')).length, 8, 'disabled while it was written')
  t.same(logged, [])
})
