import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { z } from 'zod'
import { command } from '../../fixtures/command.js'
import { dataDir } from '../../fixtures/instance.js'

const Findings = z.array(
  z.object({ check: z.string(), state: z.string(), says: z.string(), mend: z.string().optional() }),
)

t.test('without an origin it is checked as serve is', async (t) => {
  const { stdout } = await command(
    'doctor',
    '--json',
    '--offline',
    '--data',
    dataDir(t),
    '--host',
    '127.0.0.1',
    '--port',
    '4321',
  )
  const findings = Findings.parse(JSON.parse(stdout))
  t.match(
    findings.find(({ check }) => check === 'origin'),
    { state: 'ok', says: /as for serve; for a proxy: / },
  )
  t.match(
    findings.filter(({ check }) => check === 'service').map(({ says }) => says),
    [/^http:\/\/127\.0\.0\.1:4321\/ is open to this machine only$/],
  )
})

/** Makes an import of `pg` fail as it does where the package is not installed. */
const WITHOUT_PG = `data:text/javascript,${encodeURIComponent(`
  import { register } from 'node:module'
  register('data:text/javascript,' + encodeURIComponent(\`
    export async function resolve(name, context, next) {
      if (name === 'pg') throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
      return next(name, context)
    }
  \`))
`)}`

t.test('a package that is not installed is not a server that is down', async (t) => {
  const args = ['doctor', '--offline', '--data', dataDir(t), '--control', 'postgres://user@127.0.0.1:1/x', '--json']
  const child = spawn(process.execPath, ['--import', WITHOUT_PG, 'dist/bin/readership.js', ...args])
  let printed = ''
  child.stdout.on('data', (chunk) => {
    printed += chunk
  })
  await once(child, 'close')
  t.match(
    JSON.parse(printed).find((one: { check: string }) => one.check === 'PostgreSQL'),
    { state: 'fail', says: /npm install pg/, mend: /^Install it beside readership; / },
  )
})
