import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import t, { type Test } from 'tap'
import { checkServers } from '../../src/app/cli/doctor-servers.js'
import { MIGRATIONS } from '../../src/storage/clickhouse/schema.js'
import { openPostgresRecords } from '../../src/storage/postgres/records.js'
import { RECORDS_SCHEMA } from '../../src/storage/records/records-schema.js'
import { sql } from '../../src/storage/sql.js'
import { type ClickHouseServer, noChdb, startClickHouse } from '../fixtures/clickhouse-server.js'
import { openClickHouseWriter } from '../fixtures/clickhouse-store.js'
import { directory } from '../fixtures/files.js'
import { cli } from '../fixtures/instance.js'
import { createDatabase, noPostgres, startPostgres } from '../fixtures/postgres.js'

interface Changes {
  /** Changes the text of a statement. */
  rewrite?: (statement: string) => string
  /** Statements that the user has no right to. */
  refuse?: RegExp
}

/** Puts a server in front of ClickHouse that changes or refuses statements, as another version or user would have it. */
async function startInFront(
  t: Test,
  server: ClickHouseServer,
  { rewrite = (same) => same, refuse }: Changes,
): Promise<string> {
  const url = await server.createDatabase()
  const { hostname, port } = new URL(url)
  const front = createServer(async (received, response) => {
    const statement = rewrite(await text(received))
    if (refuse?.test(statement)) {
      response.writeHead(500, { 'X-ClickHouse-Exception-Code': '497' })
      return response.end('Code: 497. DB::Exception: u: Not enough privileges. (ACCESS_DENIED)')
    }
    const { 'content-length': _, ...headers } = received.headers
    const sent = request({ hostname, port, method: received.method, path: received.url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    return sent.end(statement)
  })
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    front.closeAllConnections()
    front.close()
  })
  const { port: own } = front.address() as AddressInfo
  return url.replace(`:${port}/`, `:${own}/`)
}

/** Runs statements on a database of PostgreSQL. */
async function run(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

const openRecords = async (t: Test, url: string) => {
  const records = await openPostgresRecords({ url, now: () => new Date(), log() {}, instance: 'test', onChange() {} })
  t.teardown(() => records.close())
  return records
}

t.test(
  'what prevents a start is one line, and doctor says how to mend it',
  { skip: noChdb || noPostgres, timeout: 900_000 },
  async (t) => {
    const [clickhouse, postgres] = [await startClickHouse(t), await startPostgres(t)]
    const rows = await clickhouse.createDatabase()
    const { password } = new URL(rows)
    const other = `${'0'.repeat(password.length)}`
    const inFront = (changes: Changes) => startInFront(t, clickhouse, changes)
    const noRight = await inFront({
      refuse: /^\s*create table/i,
      rewrite: (statement) => statement.replace(/check grant .* on (\w+\.\*)/, 'check grant create user on *.*'),
    })
    const old = await inFront({ rewrite: (statement) => statement.replace('select version()', "select '24.8.4.13'") })
    const fast = await inFront({
      rewrite: (statement) => statement.replace('Milli(now64(3))', 'Milli(now64(3)) + 600000'),
    })
    const newer = await clickhouse.createDatabase()
    await (await openClickHouseWriter(t, newer)).close()
    const { hostname, port, pathname } = new URL(newer)
    await fetch(`http://${hostname}:${port}/?database=${pathname.slice(1)}`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`default:${password}`)}` },
      body: `insert into schema_versions (version) values (${MIGRATIONS.length + 1})`,
    })
    const records = await createDatabase(postgres.url, 'records')
    const laterRecords = await createDatabase(postgres.url, 'later')
    await (await openRecords(t, laterRecords)).close()
    await run(laterRecords, `insert into schema_versions values (${RECORDS_SCHEMA.length + 1}, now())`)
    const weak = (await createDatabase(postgres.url, 'weak')).replace('readership:', 'weak:')
    await run(records, `create role weak login password '${postgres.password}'`)
    const others = await createDatabase(postgres.url, 'others')
    await (await openClickHouseWriter(t, rows, { records: await openRecords(t, others) })).close()

    const cases: [flags: string[], line: RegExp, check: string, says: RegExp, mend: RegExp][] = [
      ...(
        [
          [
            rows.replace(password, other),
            /the user or the password is wrong/,
            'ClickHouse',
            /password is wrong/,
            /--store/,
          ],
          [rows.replace(/\/\w+$/, '/nothing'), /database does not exist/, 'ClickHouse', /does not exist/, /--store/],
          [
            'clickhouse://u:secret@127.0.0.1:1/d',
            /no connection \(ECONNREFUSED\)/,
            'ClickHouse',
            /no connection/,
            /Start/,
          ],
          [
            noRight,
            /user may not create or read the tables/,
            'ClickHouse rights',
            /default lacks some/,
            /Grant select/,
          ],
          [old, /24\.8\.4\.13 is too old: 25\.8/, 'ClickHouse', /24\.8\.4\.13 is too old/, /--store/],
          [fast, /ClickHouse server differ by 10 minutes/, 'ClickHouse clock', /differs by 600 s/, /NTP/],
          [
            newer,
            new RegExp(`schema version ${MIGRATIONS.length + 1}, and this program knows ${MIGRATIONS.length}`),
            'ClickHouse schema',
            new RegExp(`version ${MIGRATIONS.length + 1}`),
            /newer one/,
          ],
          [rows, /do not belong together/, 'binding', /other records/, /stored with/],
        ] as const
      ).map(([store, line, ...finding]): (typeof cases)[number] => [
        ['--store', store, '--control', records],
        line,
        ...finding,
      ]),
      ...(
        [
          [
            records.replace(postgres.password, other),
            /password is wrong/,
            'PostgreSQL',
            /password is wrong/,
            /--control/,
          ],
          [`${postgres.url}/none`, /there is no such database/, 'PostgreSQL', /no such database/, /--control/],
          ['postgres://u:secret@127.0.0.1:1/d', /nothing listens there/, 'PostgreSQL', /nothing listens/, /Start/],
          [
            weak,
            /permission denied for schema public/,
            'PostgreSQL rights',
            /to create tables in schema public/,
            /owner/,
          ],
          [
            laterRecords,
            /schema version \d+, and this readership knows/,
            'PostgreSQL schema',
            /version \d+/,
            /newer one/,
          ],
        ] as const
      ).map(([control, line, ...finding]): (typeof cases)[number] => [['--control', control], line, ...finding]),
    ]
    for (const [flags, line, check, says, mend] of cases) {
      const data = directory(t)
      const started = await cli('serve', '--port', '0', '--offline', '--data', data, ...flags)
      t.equal(started.code, 1, `${line}`)
      t.match(started.stderr, line)
      t.equal(started.stderr.trimEnd().split('\n').length, 1, started.stderr)
      const { stdout } = await cli('doctor', '--offline', '--data', data, ...flags)
      const findings = stdout.split('\n')
      const at = findings.findIndex((each) => each.startsWith(`✗ ${check}: `))
      t.match(findings[at], says, `${check}: ${stdout}`)
      t.match(findings[at + 1], mend)
      for (const secret of [password, postgres.password, other, 'secret'])
        t.notMatch(`${started.stderr}${stdout}`, secret, 'no password is shown')
    }
  },
)

t.test('doctor describes servers that can be used', { skip: noChdb || noPostgres, timeout: 600_000 }, async (t) => {
  const [clickhouse, postgres] = [await startClickHouse(t), await startPostgres(t)]
  const [store, control] = [await clickhouse.createDatabase(), await createDatabase(postgres.url, 'ours')]
  const look = async (now = () => new Date()) => {
    const findings = await checkServers({ store, control }, now)
    return Object.fromEntries(findings.map(({ check, state, says }) => [check, `${state} ${says}`]))
  }
  t.match(await look(), {
    ClickHouse: /^ok http:.*: version 26\./,
    'ClickHouse rights': /^ok/,
    'ClickHouse schema': 'ok the first start creates the tables',
    'ClickHouse clock': /^ok/,
    PostgreSQL: /^ok postgres:.*: version 18\./,
    'PostgreSQL rights': /^ok/,
    'PostgreSQL schema': 'ok the first start creates the tables',
    'PostgreSQL clock': /^ok/,
    writer: undefined,
    binding: undefined,
  })
  const records = await openRecords(t, control)
  const writer = await openClickHouseWriter(t, store, { records })
  const renewing = setInterval(() => {
    records.write(sql`update writers set renewals = renewals + 1`).catch(() => {})
  }, 500)
  t.teardown(() => clearInterval(renewing))
  t.match(await look(), {
    writer: 'warn no process writes',
    binding: /^ok/,
    'ClickHouse schema': new RegExp(`^ok version ${MIGRATIONS.length}`),
  })
  await records.write(sql`update writers set instance = 'a', address = 'http://a:1'`)
  t.match(await look(), { writer: 'ok http://a:1, epoch 1' })
  clearInterval(renewing)
  t.match(await look(), { writer: /^warn http:\/\/a:1, epoch 1: it has not renewed its lease/ })
  const away = (minutes: number) => () => new Date(Date.now() + minutes * 60_000)
  t.match(await look(away(2)), {
    'ClickHouse clock': /^warn differs by 1[12]\d s/,
    'PostgreSQL clock': /^warn differs by 1[12]\d s/,
  })
  t.match(await look(away(-10)), {
    'ClickHouse clock': /^fail differs by (600|599) s/,
    'PostgreSQL clock': /^fail differs by (600|599) s/,
  })
  await writer.close()
})
