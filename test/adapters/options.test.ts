import t from 'tap'
import { middleware as express } from '../../adapters/express.js'
import { middleware as hono, webMiddleware } from '../../adapters/hono.js'
import { listener } from '../../adapters/node.js'
import { createReadershipClient } from '../../src/client.js'
import { mount } from '../../src/index.js'

t.test('an adapter refuses an option that it does not have, before it serves anything', async (t) => {
  const readership = { record() {}, fetch: async () => new Response(), close: async () => {} }
  const clientAddress = () => '198.51.100.7'
  const misspelt = 'readership: basepath is not an option of the adapter; did you mean basePath?'
  const rows: [make: unknown, parts: unknown[], message: string | undefined, why: string][] = [
    [mount, [readership, { basePath: '/r' }], undefined, 'its own option'],
    [mount, [readership, { basepath: '/r' }], misspelt, 'a misspelt option'],
    [express, [readership], undefined, 'no options'],
    [express, [readership, { basepath: '/r' }], misspelt, 'in Express'],
    [
      express,
      [readership, { clientAddress }],
      'readership: clientAddress is not an option of the adapter. The options are basePath.',
      'Express has `trust proxy` for it',
    ],
    [hono, [readership, { basePath: '/r', clientAddress }], undefined, 'both of Hono'],
    [hono, [readership, { basepath: '/r' }], misspelt, 'in Hono'],
    [listener, [readership, () => {}, { basePath: '/r', clientAddress }], undefined, 'both of Node'],
    [listener, [readership, () => {}, { basepath: '/r' }], misspelt, 'in Node'],
    [
      webMiddleware,
      [readership, { ip: clientAddress }],
      'readership: webMiddleware needs the option clientAddress, which must be a function.',
      'without it every request would fail',
    ],
    [
      createReadershipClient,
      [{ url: 'https://stats.example.com' }],
      'readership: baseUrl is missing: write the service’s URL, such as https://stats.example.com',
      'the client without an address',
    ],
  ]
  for (const [make, parts, message, why] of rows) {
    const call = () => Reflect.apply(Object(make), undefined, parts)
    if (message === undefined) t.doesNotThrow(call, why)
    else t.throws(call, { name: 'TypeError', message }, why)
  }
})
