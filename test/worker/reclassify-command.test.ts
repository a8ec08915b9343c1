import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import { loadCatalog } from '../../src/agents/catalog.js'
import { runProgram } from '../../src/app/cli/index.js'
import { openEvents } from '../../src/storage/duckdb/event-store.js'
import { openStores } from '../../src/storage/duckdb/open-files.js'
import { openRecords } from '../../src/storage/duckdb/records.js'
import { sql } from '../../src/storage/sql.js'
import { command } from '../fixtures/command.js'
import { dataDir, startInstance, startOrigin } from '../fixtures/instance.js'
import { agentRow } from '../fixtures/rows.js'
import { storeOptions } from '../fixtures/store.js'

t.test('the command works with an instance, without one, and reports a missing data directory', async (t) => {
  const data = dataDir(t)
  const { settings, ...common } = storeOptions('').options
  const { events: store, records } = await openStores({
    ...common,
    data,
    settings: { events: settings, records: settings },
    random: randomBytes,
  })
  await records.close()
  const gptbot = { user_agent: 'Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)' }
  const past = { catalog_version: '2025-01-01', agent_id: 'other', operator: 'Unknown', purpose: 'other' }
  const rows = (n: number) => ({
    events: [],
    agent_events: Array.from({ length: n }, () => agentRow({ ...past, ...gptbot })),
  })
  await store.append(rows(3))
  await store.close()
  t.match(await command('agents', 'reclassify', '--data', `${data}-none`), {
    code: 1,
    stderr: /^error: No data in [^\n]+\n$/,
  })

  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const app = await startInstance(origin.url, data)
  t.teardown(() => app.stop())
  const version = loadCatalog().version
  const first = await command('agents', 'reclassify', '--data', data, '--json')
  t.equal(first.stderr, '', 'no bar where nobody looks')
  t.strictSame(JSON.parse(first.stdout), {
    catalog_version: version,
    rows: 3,
    changed: 3,
    moves: [{ from: 'other', to: 'gptbot', rows: 3 }],
  })
  t.match(await command('agents', 'reclassify', '--data', data), {
    code: 0,
    stdout: `All rows already use the catalog of ${version} and the present names of systems.\n`,
  })
  t.match((await app.ask('/api/agents/breakdown?site=1&dimension=agent_id&range=all')).data, [
    { value: 'gptbot', fetches: 3 },
  ])
  const refused = await fetch(`${app.admin}/control/agents/reclassify`, { method: 'POST' })
  t.equal(refused.status, 404, 'the operator’s alone')
  await app.stop()

  const alone = await openEvents(storeOptions(join(data, 'events.duckdb')).options)
  await alone.append(rows(40_000))
  await alone.close()
  const direct = await command('agents', 'reclassify', '--data', data)
  t.equal(direct.code, 0, direct.stderr)
  t.match(
    direct.stdout,
    /^ +ROWS +FROM +TO\n40,000 +other +gptbot\nIdentified 40,000 rows with the catalog of [\da-f-]+; 40,000 have another agent or system now\.\n$/,
  )

  const identified = await command('agents', 'identify', gptbot.user_agent, '--ip', '192.0.2.1', '--data', data)
  t.match(identified.stdout, /^verified +not checked: no instance runs on .*--data$/m)
  t.match(
    (await command('agents', 'identify', gptbot.user_agent, '--data', data)).stdout,
    /^verified +not checked: give the address of the client with --ip/m,
  )
})

t.test('after Ctrl-C finished slices stay done', async (t) => {
  const data = dataDir(t)
  const file = join(data, 'events.duckdb')
  const store = await openEvents(storeOptions(file).options)
  for (let n = 0; n < 2; n++)
    await store.append({
      events: [],
      agent_events: Array.from({ length: 20_000 }, (_, i) =>
        agentRow({ catalog_version: '2025-01-01', agent_id: 'other', user_agent: `GPTBot/1.${n}.${i}` }),
      ),
    })
  await store.close()
  await (await openRecords(storeOptions(join(data, 'control.duckdb')).options)).close()
  // In this process: Ctrl-C comes with the first progress bar, whatever the machine's speed.
  let interrupt = () => {}
  let said = ''
  const code = await runProgram(['agents', 'reclassify', '--data', data], {
    out: (text) => t.fail(`nothing is finished: ${text}`),
    err: (text) => {
      said += text
      if (text.includes('Reclassifying')) interrupt()
    },
    errColumns: 80,
    colour: false,
    version: '1',
    pid: 1,
    env: {},
    onSignal: (_, listener) => {
      let sent = false
      interrupt = () => {
        if (!sent) listener()
        sent = true
      }
    },
    onUncaughtError: () => {},
    exit: (code) => {
      throw new Error(`exit ${code}`)
    },
  })
  t.equal(code, 1)
  t.match(
    // A store that takes a second to open says so first.
    said.replaceAll('\r\u001b[2K', '<').replace(/^(<Opening the store … \d+ s)+</, ''),
    /^<Reclassifying [█░]{30} \d+ % \([\d,]+ of 40,000\)<error: Stopped after [\d,]+ rows, which are done; run it again for the rest\.\n$/,
  )
  const count = async () => {
    const again = await openEvents(storeOptions(file).options)
    const [row] = await again.query(
      sql`select count(*) filter (agent_id = 'gptbot') as done, count(*) filter (agent_id = 'gptbot' and catalog_version = '2025-01-01') as half from agent_events`,
    )
    await again.close()
    return row
  }
  const stopped = await count()
  t.equal(stopped?.half, 0, 'no row half way')
  t.equal(stopped?.done, Number(/after ([\d,]+) rows/.exec(said)?.[1]?.replaceAll(',', '')), 'as many as it said')
  t.match(await command('agents', 'reclassify', '--data', data), { code: 0 })
  t.strictSame(await count(), { done: 40_000, half: 0 })
})
