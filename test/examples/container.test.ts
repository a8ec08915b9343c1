import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { parse } from 'yaml'
import { z } from 'zod'
import { COMMANDS } from '../../src/app/cli/program.js'
import { freePort } from '../fixtures/instance.js'

/*
 * No daemon of containers and no cluster is here: the files are read. examples/container/README.md says what was run by hand.
 */

const read = (path: string) => readFileSync(join('examples', path), 'utf8')
const readYaml = (path: string): unknown => parse(read(path), { merge: true })
const { version, bin } = z
  .object({ version: z.string(), bin: z.object({ readership: z.string() }) })
  .parse(JSON.parse(readFileSync('package.json', 'utf8')))

const instructions = read('container/Dockerfile')
  .replaceAll('\\\n', '')
  .split('\n')
  .filter((line) => /^[A-Z]/.test(line))
const runtime = instructions.slice(instructions.findLastIndex((line) => line.startsWith('FROM')))
/** Returns the words of an instruction in exec form, which needs no shell. */
const words = (name: string): string[] => {
  const line = runtime.find((one) => one.startsWith(name)) ?? ''
  return z.array(z.string()).parse(JSON.parse(line.slice(line.indexOf('['))))
}

t.test('the image runs the program of the package, without root and without a shell', async (t) => {
  t.same(words('ENTRYPOINT'), ['node', bin.readership.replace(/^\.\//, '')])
  t.ok(COMMANDS.some(({ name }) => name === words('CMD')[0]))
  t.ok(runtime.includes('USER 1000:1000'), 'a number, which Kubernetes can tell from root')
  t.same(
    runtime.filter((line) => line.startsWith('RUN')),
    [],
    'the last stage runs nothing',
  )
})

t.test('the health check follows the service of either command', async (t) => {
  let status = 200
  const server = createServer((_, res) => res.writeHead(status).end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const address = server.address()
  const open = String(typeof address === 'object' && address?.port)
  const [program, ...args] = words('HEALTHCHECK')
  const check = async (admin: string, port: string) => {
    const env = { ...process.env, READERSHIP_ADMIN_PORT: admin, READERSHIP_PORT: port }
    const [code] = await once(spawn(program === 'node' ? process.execPath : '', args, { env }), 'exit')
    return code
  }
  const closed = String(await freePort())
  t.equal(await check(open, closed), 0, 'proxy')
  t.equal(await check(closed, open), 0, 'serve')
  t.equal(await check(closed, closed), 1, 'no process listens')
  status = 500
  t.equal(await check(open, closed), 1, 'an error')
})

const Compose = z.object({
  services: z.record(
    z.string(),
    z.looseObject({
      image: z.string(),
      build: z.object({ context: z.string(), dockerfile: z.string() }).optional(),
      command: z.array(z.string()).optional(),
      read_only: z.boolean().optional(),
      cap_drop: z.array(z.string()).optional(),
      security_opt: z.array(z.string()).optional(),
    }),
  ),
})

t.test('the services of both compose files have a read-only root and no right that they do not need', async (t) => {
  for (const [folder, services] of [
    ['container', 1],
    ['fleet', 4],
  ] as const) {
    const own = Object.entries(Compose.parse(readYaml(`${folder}/compose.yaml`)).services).filter(
      ([, one]) => one.build,
    )
    t.equal(own.length, services)
    for (const [name, { image, build, command, ...rights }] of own) {
      t.equal(image, `readership:${version}`, name)
      t.ok(existsSync(join('examples', folder, build?.context ?? '', build?.dockerfile ?? '')), name)
      t.ok(COMMANDS.some((known) => known.name === command?.[0]))
      t.match(rights, { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] })
    }
  }
})

t.test('the chart takes the version of the package, and refuses values that it does not have', async (t) => {
  t.match(readYaml('fleet/chart/Chart.yaml'), { version, appVersion: version })
  const values = z.record(z.string(), z.unknown()).parse(readYaml('fleet/chart/values.yaml'))
  const isValid = new Ajv({ strict: false }).compile(JSON.parse(read('fleet/chart/values.schema.json')))
  t.ok(isValid(values), JSON.stringify(isValid.errors))
  for (const wrong of [
    { image: { repository: 'readership', tag: 'latest' } },
    { writers: 0 },
    { replicas: 2 },
    { podDisruptionBudget: { maxUnavailable: 0 } },
  ])
    t.notOk(isValid({ ...values, ...wrong }), JSON.stringify(wrong))
  const used = [...read('fleet/chart/templates/readership.yaml').matchAll(/\.Values((?:\.\w+)+)/g)].map(
    ([, path = '']) => path.slice(1),
  )
  for (const path of new Set(used)) {
    const found = path.split('.').reduce<unknown>((of, key) => z.record(z.string(), z.unknown()).parse(of)[key], values)
    t.not(found, undefined, `values.yaml has ${path}`)
  }
})
