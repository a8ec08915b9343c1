import t from 'tap'
import { ApiError } from '../../src/base/errors.js'
import { sql } from '../../src/storage/sql.js'
import { edgeService, signBody } from '../fixtures/edge-service.js'

/**
 * A sender repeats a delivery if it did not see the response, and an attacker repeats a recorded request. Rows are stored
 * once in both cases, also after errors, restarts and two requests at the same moment.
 */
const service = await edgeService(t)
const { workerClient, send, post, rows, fetched, fresh, key, seconds, clock, faults } = service

const refusing = (error: ApiError) => ({ ...workerClient, record: () => Promise.reject(error) })

t.test('an accepted request cannot be repeated', async (t) => {
  fresh()
  const make = (pathname: string) => JSON.stringify({ site_id: 1, agent_events: [fetched({ pathname })] })
  const body = make('/once')
  const header = signBody(key.one, seconds(), body)
  const again = (value = header, text = body) => send(text, { 'x-service-signature': value })
  t.equal((await again()).status, 202)
  const conflict = await again()
  t.match(conflict, { status: 409, error: { code: 'conflict' } })
  const [time = '', digest = ''] = header.split(',')
  t.equal((await again(`${digest.toUpperCase().replace('V1', 'v1')}, ${time}`)).status, 409, 'in another spelling')
  t.equal((await again(signBody(key.one, seconds() + 1, body))).status, 202, 'signed afresh it is another')
  t.strictSame(await rows(), ['/once', '/once'])
  clock.now = new Date(clock.now.getTime() + 300_000)
  t.equal((await again()).status, 409, 'for as long as its time would let it in')
  clock.now = new Date(clock.now.getTime() + 1_000)
  t.equal((await again()).status, 401, 'and then that does not')

  const twice = make('/race')
  const racing = signBody(key.one, seconds(), twice)
  const answers = await Promise.all(Array.from({ length: 8 }, () => again(racing, twice)))
  t.strictSame(answers.map(({ status }) => status).toSorted(), [202, 409, 409, 409, 409, 409, 409, 409])
  t.strictSame(await rows(), ['/once', '/once', '/race'])
})

t.test('a numbered delivery is stored once, however often it is sent', async (t) => {
  fresh()
  const batch = (sender: string, number: number, site = 1) => ({
    site_id: site,
    batch: { sender: sender.repeat(16), number },
    agent_events: [fetched({ pathname: `/${sender}${number}`, ...(site === 2 ? { hostname: 'two.example' } : {}) })],
  })
  const cases: [ReturnType<typeof batch>, string[], string][] = [
    [batch('a', 1), ['/a1'], 'the first'],
    [batch('a', 1), ['/a1'], 'again: accepted, and not written'],
    [batch('a', 5), ['/a1', '/a5'], 'some may be left out'],
    [batch('a', 4), ['/a1', '/a5'], 'below the highest'],
    [batch('b', 1), ['/a1', '/a5', '/b1'], 'another sender'],
  ]
  for (const [body, expected, why] of cases) {
    t.match(await post(body), { status: 202, data: { agent_events: 1, events: 0 } }, why)
    t.strictSame(await rows(), expected, why)
  }
  t.equal((await post(batch('a', 1, 2), key.two)).status, 202)
  const ofTwo = sql`select pathname from agent_events where site_id = 2`
  t.strictSame(await workerClient.events.query(ofTwo), [{ pathname: '/a1' }], 'numbers are of a site')
  const retries = await Promise.all(Array.from({ length: 6 }, () => post(batch('c', 1))))
  t.ok(retries.every(({ status }) => status === 202))
  t.equal((await rows()).filter((path) => path === '/c1').length, 1, 'also all at once')
  const stored = batch('a', 5)
  clock.now = new Date(clock.now.getTime() - 600_000)
  t.equal((await post(stored)).status, 202, 'a clock that was set back makes no stored row a wrong one')
  t.match(await post({ ...stored, batch: { ...stored.batch, number: 6 } }), { status: 422 }, 'but a new one')
})

t.test('a look-up from before a commit is not used after it', async (t) => {
  let answered = () => {}
  const answering = new Promise<void>((resolve) => {
    answered = resolve
  })
  let asked = () => {}
  const asking = new Promise<void>((resolve) => {
    asked = resolve
  })
  let questions = 0
  const query: typeof workerClient.events.query = async (statement) => {
    const found = await workerClient.events.query(statement)
    if (!statement.text.join('?').includes('max(number)')) return found
    questions += 1
    if (questions === 1) {
      asked()
      await answering
    }
    return found
  }
  fresh({ replay: service.createReplay({ store: { query } }) })
  const body = {
    site_id: 1,
    batch: { sender: 'e'.repeat(16), number: 1 },
    agent_events: [fetched({ pathname: '/late' })],
  }
  const late = post(body)
  await asking
  t.equal((await post(body)).status, 202, 'its retry, while the first still looks the sender up')
  answered()
  t.equal((await late).status, 202)
  t.equal((await post(body)).status, 202)
  t.strictSame(await rows(), ['/late'])
})

t.test('a process that writes again asks what another one has stored meanwhile', async (t) => {
  let highest = 1
  const replay = service.createReplay({
    store: { query: async ({ text }) => (text.join('?').includes('max(number)') ? [{ number: highest }] : []) },
  })
  replay.raiseNumber(1, 'a', 1)
  highest = 5
  t.equal(await replay.highestNumber(1, 'a'), 1, 'while it is the only one that writes, it need not ask')
  replay.reload()
  t.equal(await replay.highestNumber(1, 'a'), 5)
})

t.test('a failed delivery is not accepted, and may be retried', async (t) => {
  fresh({ workerClient: refusing(new ApiError('database_error', 'Closed.')) })
  const body = JSON.stringify({ site_id: 1, batch: { sender: '0'.repeat(16), number: 1 }, agent_events: [fetched()] })
  const header = { 'x-service-signature': signBody(key.one, seconds(), body) }
  const failed = await send(body, header)
  t.match(failed, { status: 503, error: { code: 'database_error' } })
  t.equal(failed.headers.get('retry-after'), '5')
  service.edge.workerClient = workerClient
  t.equal((await send(body, header)).status, 202, 'the very same')
  t.strictSame(await rows(), ['/agent'])
  t.equal(faults.length, 1)
})

t.test('rows that crash the worker again and again are refused for good', async (t) => {
  fresh({ workerClient: refusing(new ApiError('internal_error', 'The worker crashed repeatedly on this batch.')) })
  const answer = await post({ site_id: 1, agent_events: [fetched()] })
  t.match(answer, { status: 422, error: { code: 'validation_error' } }, 'the sender retries with fewer rows')
  t.strictSame(faults, [])
})

t.test('signatures and numbers are remembered after a restart', async (t) => {
  fresh()
  const batch = { sender: 'f'.repeat(16), number: 7 }
  const body = JSON.stringify({ site_id: 1, batch, agent_events: [fetched()] })
  const header = { 'x-service-signature': signBody(key.one, seconds() + 300, body) }
  t.equal((await send(body, header)).status, 202)
  const { now } = clock
  await workerClient.close()
  const second = await edgeService(t, { data: service.data })
  second.clock.now = now
  t.not(second.key.one, undefined)
  t.equal((await second.send(body, header)).status, 409, 'the repeat')
  const later = second.fetched({ pathname: '/later' })
  t.equal((await second.post({ site_id: 1, batch, agent_events: [later] }, second.key.one)).status, 202)
  t.strictSame(await second.workerClient.events.query(sql`select * from agent_events where pathname = '/later'`), [])
  second.clock.now = new Date(now.getTime() + 600_000)
  t.equal((await second.send(body, header)).status, 409, 'of a time ahead, ten minutes later')
})
