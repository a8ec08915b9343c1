import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { COMMAND, emptyProject, untilStored } from '../fixtures/empty-project.js'
import { eventually, freePort, startOrigin } from '../fixtures/instance.js'

/** The commands in a page of src/docs, line by line. */
const commandsOf = (page: string) =>
  [...readFileSync(`src/docs/${page}.md`, 'utf8').matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, text = '']) =>
    text.trim().split('\n'),
  )

t.test('backing up, going back and uninstalling, as the pages say', { timeout: 300_000 }, async (t) => {
  const origin = await startOrigin()
  t.teardown(() => origin.close())
  const cwd = emptyProject(t, ['readership'])
  const [port, admin] = [await freePort(), await freePort()]
  const ports = { READERSHIP_PORT: `${port}`, READERSHIP_ADMIN_PORT: `${admin}`, READERSHIP_OFFLINE: 'true' }
  // npm asks its registry about what it removes, unless told not to.
  const env = { ...process.env, ...ports, npm_config_offline: 'true', npm_config_audit: 'false' }
  const shell = async (command: string) => (await promisify(execFile)('sh', ['-c', command], { cwd, env })).stdout
  const proxy = spawn(process.execPath, [COMMAND, 'proxy', origin.url], { cwd, env, stdio: 'ignore' })
  t.teardown(() => proxy.kill('SIGKILL'))
  await eventually('readership', async () => (await fetch(`http://127.0.0.1:${admin}/readyz`)).ok)
  await untilStored(t, port, join(cwd, 'readership-data'))

  const [upgrade = [], back = []] = commandsOf('versions')
  const [backup = '', check = ''] = upgrade
  await shell(backup)
  // The registry is not asked here: this release stands for the newest.
  t.match(await shell(check.replace('readership@latest', 'readership')), /release/, check)
  await shell(back.join('\n'))
  t.ok(existsSync(join(cwd, 'readership-data-before/events.duckdb')), 'the directory from the backup')

  const [take = [], remove = []] = commandsOf('uninstall')
  for (const command of take) await shell(command)
  t.match(readFileSync(join(cwd, 'people.csv'), 'utf8'), /\n.*127\.0\.0\.1/, 'the visit is in the table')
  t.match(readFileSync(join(cwd, 'fetches.csv'), 'utf8'), /agent_id/)
  t.ok(statSync(join(cwd, 'readership.tar')).size > 10_000)
  proxy.kill()
  t.same(await once(proxy, 'exit'), [0, null], 'it stops')
  for (const command of remove) await shell(command)
  t.same(
    readdirSync(cwd).filter((name) => name.startsWith('readership-data')),
    ['readership-data-before'],
  )
  t.notOk(existsSync(join(cwd, 'node_modules/readership')), 'the package is gone')
})
