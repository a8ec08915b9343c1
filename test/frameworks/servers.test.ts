import { readFileSync } from 'node:fs'
import t from 'tap'
import { application, noFrameworks } from './fixtures/application.js'
import { drive } from './fixtures/drive.js'

const SERVERS: readonly [name: string, heading: string, change?: [from: string, to: string]][] = [
  ['node', 'Hello from Node'],
  ['express', 'Hello from Express'],
  ['express', 'Hello from Express', ["from 'express'", "from 'express4'"]],
  ['hono', 'Hello from Hono'],
  ['fastify', 'Hello from Fastify'],
  ['koa', 'Hello from Koa'],
]
for (const [name, heading, [from, to] = ['', '']] of SERVERS)
  t.test(`${name} ${to}`, { skip: noFrameworks }, async (t) => {
    const program = readFileSync(`examples/frameworks/${name}/server.js`, 'utf8')
    await drive(t, await application(t, name, { 'server.js': program.replace(from, to) }), { heading })
  })
