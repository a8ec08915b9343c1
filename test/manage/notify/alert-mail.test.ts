import { createServer } from 'node:net'
import t from 'tap'
import { AlertEvent, alertMail } from '../../../src/manage/notify/alert-event.js'
import { createMailer } from '../../../src/manage/notify/smtp-mailer.js'
import { alertDeliveries } from '../../fixtures/alert-deliveries.js'
import { createInProcessEngine } from '../../fixtures/in-process-worker.js'
import { mailServer } from '../../fixtures/receiver.js'

t.test('an alert is mailed, and the result of each attempt is saved', async (t) => {
  const mail = { type: 'email' as const, target: 'a@example.com' }
  const cases: [
    why: string,
    status: (n: number) => number | undefined,
    waits: (number | undefined)[],
    state: string,
  ][] = [
    ['accepted', () => undefined, [undefined], 'done'],
    ['greylisted', (n) => (n < 2 ? 451 : undefined), [30, 120, undefined], 'done'],
    ['unknown recipient', () => 550, [undefined], 'failed'],
  ]
  const { workerClient } = await createInProcessEngine(t)
  for (const [why, refuse, waits, state] of cases) {
    const { mails, url } = await mailServer(t, refuse)
    const { add, next, list } = await alertDeliveries(t, [mail], { smtp: url, workerClient })
    await add()
    await next()
    const seen: (number | undefined)[] = []
    for (const _ of waits) seen.push(await next())
    t.same(seen, waits, why)
    t.match(await list(), [{ state }], why)
    t.equal(mails.length, state === 'done' ? 1 : 0, why)
    if (state !== 'done') continue
    t.same(mails[0]?.to, ['a@example.com'])
    t.match(mails[0]?.text, /^Subject: Alert: A \(Tides\)\r?$/m)
    t.match(mails[0]?.text, /^X-Service-Delivery: alert:\d+:x:0\r?$/m)
    t.match(mails[0]?.text, /Value: 7\./)
  }
  const none = await alertDeliveries(t, [mail], { workerClient })
  await none.add()
  await none.run()
  t.match(await none.list(), [{ state: 'failed', last_error: 'no mail server is configured (smtp)' }])

  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await new Promise((resolve) => silent.once('listening', resolve))
  t.teardown(() => silent.close())
  const address = silent.address()
  const smtp = `smtp://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`
  const mailer = createMailer({ smtp, from: 'a@example.com', mail_timeout_ms: 200 })
  const one = { to: 'b@example.com', subject: 'x', text: 'x' }
  await t.rejects(mailer.send(one), { permanent: false, message: 'the mail server took too long' })
  const hostile: [object, string][] = [
    [{ subject: 'x\r\nBcc: c@example.com' }, 'a second header'],
    [{ subject: 'x\nBcc: c@example.com' }, 'a second header after a bare line feed'],
    [{ key: 'x\r\nBcc: c@example.com' }, 'a second header in the key'],
    [{ to: 'b@example.com, c@example.com' }, 'two recipients'],
    [{ to: 'b@example.com\r\nBcc: c@example.com' }, 'a recipient and a header'],
    [{ to: 'B <b@example.com>' }, 'a display name'],
  ]
  for (const [part, why] of hostile)
    await t.rejects(mailer.send({ ...one, ...part }), { name: 'MailError', permanent: true }, why)
})

t.test('hostile text cannot add a mail header or control a terminal', (t) => {
  const event = AlertEvent.parse({
    ...{ event: 'fired', at: '2026-11-21T10:00:00.000Z', site: { id: 1, name: 'Tides' } },
    alert: {
      ...{ id: 1, name: 'Bots', kind: 'policy_violation', audience: 'agent', filters: [], op: 'gte', value: 1 },
      window_minutes: 60,
    },
    window: { start: '2026-11-21T09:00:00.000Z', end: '2026-11-21T10:00:00.000Z' },
    value: 1_200,
    details: [{ pathname: `/a\r\n\u001b[31m\u202eb${'x'.repeat(500)}`, fetches: 3 }],
  })
  const { subject, text } = alertMail(event, 'a@example.com', 'k')
  t.equal(subject, 'Alert: Bots (Tides)')
  t.match(text, 'Condition: fetches that robots.txt disallowed: at least 1 in 60 minutes.\nValue: 1,200.\n')
  t.match(text, 'Window: 2026-11-21 09:00 to 2026-11-21 10:00 UTC.')
  t.match(text, '- pathname /a???[31m?bxxx')
  for (const odd of ['\u001b', '\u202e', '\r']) t.notOk(text.includes(odd))
  t.ok(text.length < 700)
  t.end()
})
