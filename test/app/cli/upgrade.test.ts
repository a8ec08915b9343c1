import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { listenControl, socketPath } from '../../../src/api/server.js'
import { COMMANDS } from '../../../src/app/cli/program.js'
import { checkNode, checkSettings, OLDEST_NODE } from '../../../src/app/cli/upgrade.js'
import { loadConfig, SETTINGS } from '../../../src/app/config.js'
import { EVENTS_SCHEMA } from '../../../src/storage/duckdb/events-schema.js'
import { RECORDS_SCHEMA } from '../../../src/storage/records/records-schema.js'
import { command } from '../../fixtures/command.js'
import { dataDir } from '../../fixtures/instance.js'

const Findings = z.array(
  z.object({ check: z.string(), state: z.string(), says: z.string(), mend: z.string().optional() }),
)
const [ROWS, RECORDS] = [EVENTS_SCHEMA.length, RECORDS_SCHEMA.length]
const SCHEMAS = /^(release|stored data|schema of .+|migration|backups|store|instance)$/

/** Runs `upgrade --check`, and returns its exit code and the findings about the store. */
async function check(...args: string[]) {
  const { code, stdout, stderr } = await command('upgrade', '--check', '--json', '--offline', ...args)
  const findings = Findings.parse(JSON.parse(stdout)).filter(({ check }) => SCHEMAS.test(check))
  return { code, stderr, findings: new Map(findings.map((finding) => [finding.check, finding])) }
}

async function createStore(t: Test): Promise<string> {
  const data = dataDir(t)
  await command('keys', 'create', '--name', 'a', '--data', data)
  return data
}

/** Makes the file say that it has this version. */
async function setVersion(data: string, version: number): Promise<void> {
  const instance = await DuckDBInstance.create(join(data, 'events.duckdb'))
  const connection = await instance.connect()
  await connection.run('delete from schema_versions')
  await connection.run(`insert into schema_versions values (${version}, now()::timestamp)`)
  await connection.run('checkpoint')
  connection.disconnectSync()
  instance.closeSync()
}

const listFiles = (data: string) =>
  readdirSync(data).map((name) => {
    const { mtimeMs, size } = statSync(join(data, name))
    return { name, mtimeMs, size }
  })

t.test('without --check it says how to upgrade, in commands that there are', async (t) => {
  const { code, stdout } = await command('upgrade')
  t.equal(code, 0)
  const named = [...stdout.matchAll(/readership(?:@latest)? ([a-z]+) (--|FILE)/g)].map(([, name = '']) => name)
  t.same(named, ['backup', 'upgrade', 'doctor'])
  for (const name of named)
    t.ok(
      COMMANDS.some((one) => one.name === name),
      name,
    )
})

t.test('a store of this, an earlier and a later release', async (t) => {
  const data = await createStore(t)
  const now = await check('--data', data)
  t.equal(now.code, 0)
  t.match(now.findings.get('schema of events.duckdb'), {
    state: 'ok',
    says: `version ${ROWS}, that of this release: no`,
  })
  t.match(now.findings.get('backups'), { state: 'warn', says: /^none is known/, mend: /readership backup FILE/ })
  t.notOk(now.findings.has('migration'))

  await setVersion(data, ROWS - 2)
  const before = listFiles(data)
  const earlier = await check('--data', data)
  t.equal(earlier.code, 0)
  t.match(earlier.findings.get('schema of events.duckdb'), {
    state: 'ok',
    says: `version ${ROWS - 2}; this release has ${ROWS}: its first start runs steps ${ROWS - 1} to ${ROWS}`,
  })
  t.match(earlier.findings.get('schema of control.duckdb'), { says: `version ${RECORDS}, that of this release` })
  t.match(earlier.findings.get('migration'), {
    state: 'ok',
    says: /^the first start copies events\.duckdb \(\d\.\d MB\) .+: about 1 s on a local disk; it needs \d\.\d MB of free disk/,
  })
  t.same(listFiles(data), before, 'nothing was changed')

  await setVersion(data, ROWS + 1)
  const later = await check('--data', data)
  t.match(later, { code: 1, stderr: /^error: 1 of \d+ checks failed\.$/m })
  t.match(later.findings.get('stored data'), { state: 'fail', says: new RegExp(`schema version ${ROWS + 1}`) })
})

t.test('a directory of backups tells the age of the last one', async (t) => {
  const data = await createStore(t)
  const backups = t.testdir()
  const args = ['--data', data, '--backup-dir', backups]
  t.match((await check(...args)).findings.get('backups'), { state: 'warn', says: `none in ${backups}` })
  await command('backup', backups, '--data', data)
  t.match((await check(...args)).findings.get('backups'), { state: 'ok', says: /the last one in .+ is \d+ s old$/ })
})

t.test('a directory without a store is not ready', async (t) => {
  const data = dataDir(t)
  const { code, findings } = await check('--data', data)
  t.equal(code, 1)
  t.match(findings.get('store'), { state: 'fail', says: `none is in ${data}`, mend: /--data/ })
})

t.test('an instance that runs says the versions of the files that it has open', async (t) => {
  const rows: [engines: object | undefined, code: number, expected: object, why: string][] = [
    [{ rows_schema: ROWS }, 0, { state: 'ok', says: /no migration$/ }, 'the same schema'],
    [
      { rows_schema: ROWS - 1 },
      0,
      { state: 'ok', says: new RegExp(`first start runs step ${ROWS}$`) },
      'an earlier one',
    ],
    [{ rows_schema: ROWS + 1 }, 1, { state: 'fail', says: /it does not start$/ }, 'a later one'],
    [{}, 0, { state: 'warn', says: /^not known: the running instance does not say it/ }, 'a release without them'],
    [undefined, 0, { state: 'warn', says: /^not known/ }, 'a worker that does not respond'],
  ]
  for (const [engines, code, expected, why] of rows) {
    const data = dataDir(t)
    mkdirSync(data, { recursive: true })
    for (const name of ['events.duckdb', 'control.duckdb']) writeFileSync(join(data, name), 'in use')
    const control = await listenControl(async (request) => {
      const { pathname } = new URL(request.url)
      if (pathname === '/control/status') return Response.json({ data: runningStatus(data, engines) })
      return Response.json({ data: pathname === '/control/store' ? { losses: [] } : [] })
    }, socketPath(data))
    try {
      const found = await check('--data', data)
      t.match(found.findings.get('release'), { says: '1.2.3; 0.9.0 runs' })
      t.match(found.findings.get('schema of events.duckdb'), expected, why)
      t.equal(found.code, code, why)
    } finally {
      await control.close()
    }
  }
})

const runningStatus = (directory: string, engines: object | undefined) => ({
  version: '0.9.0',
  started_at: '2026-11-21T08:00:00.000Z',
  now: '2026-11-24T12:00:00.000Z',
  store: { state: 'ready' },
  ...(engines && { engines: { rows: 'DuckDB', records: 'DuckDB', records_schema: RECORDS, ...engines } }),
  rows: { stored: 0, waiting: 0, dropped: {} },
  memory: { site_bytes: 1 },
  data: { directory, files: [], free_bytes: 1e9 },
})

t.test('Node.js, and settings that are unknown or deprecated', async (t) => {
  const rows: [version: string, state: string][] = [
    ['20.19.0', 'ok'],
    ['20.18.3', 'fail'],
    ['18.20.0', 'fail'],
    ['22.0.0', 'ok'],
  ]
  for (const [version, state] of rows) t.match(checkNode(version), { state }, version)
  const { engines } = z
    .object({ engines: z.object({ node: z.string() }) })
    .parse(JSON.parse(readFileSync('package.json', 'utf8')))
  t.equal(engines.node, `>=${OLDEST_NODE.join('.')}`)

  const load = (flags: object) => loadConfig({ flags, env: {}, read: () => undefined })
  const later = SETTINGS.map((one) => ({ ...one, ...(one.name === 'inject' && { deprecated: 'use another' }) }))
  t.match(checkSettings(load({}), later), { state: 'ok' }, 'one that is not set')
  t.match(checkSettings(load({ inject: true }), later), {
    state: 'warn',
    says: 'deprecated: inject',
    mend: 'inject: use another.',
  })
  t.match(await command('upgrade', '--check', '--adress', 'x'), { code: 2, stderr: /unknown option '--adress'/ })
  const file = join(t.testdir({ 'r.yaml': 'prot: 1\n' }), 'r.yaml')
  t.match(await command('upgrade', '--check', '--config', file), {
    code: 2,
    stderr: /r\.yaml:1: prot is not a setting/,
  })
})
