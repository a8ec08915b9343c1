/** The command that puts the proxy in front of a site, whose own server is at port 3000. */
export const proxyCommand = (host: string): string =>
  `npx readership proxy http://127.0.0.1:3000 --port 8080 --domain ${host} --inject`

/** Programs of a whole site with readership inside. `origin` is the site's address, such as `https://www.example.com`. */
export const PROGRAMS: readonly { name: string; packages: string; program(origin: string): string }[] = [
  {
    name: 'Express',
    packages: 'express',
    program: (origin) => `import express from 'express'
import { openReadership } from 'readership'
import { middleware } from 'readership/express'

const site = express()
site.use(middleware(await openReadership({ origin: '${origin}' })))
site.get('/', (req, res) => res.send('<h1>Hello</h1>'))
site.listen(3000)`,
  },
  {
    name: 'Hono',
    packages: 'hono @hono/node-server',
    program: (origin) => `import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { openReadership } from 'readership'
import { middleware } from 'readership/hono'

const site = new Hono()
site.use(middleware(await openReadership({ origin: '${origin}' })))
site.get('/', (c) => c.html('<h1>Hello</h1>'))
serve({ fetch: site.fetch, port: 3000 })`,
  },
  {
    name: 'Node',
    packages: '',
    program: (origin) => `import { createServer } from 'node:http'
import { openReadership } from 'readership'
import { listener } from 'readership/node'

const readership = await openReadership({ origin: '${origin}' })
const site = (req, res) => res.setHeader('content-type', 'text/html').end('<h1>Hello</h1>')
createServer(listener(readership, site)).listen(3000)`,
  },
]
