import t from 'tap'
import { createOriginOutbound } from '../../../src/base/outbound/origin-outbound.js'

t.test('a failed request to the origin names the origin with its port, whatever its hostname', async (t) => {
  const outbound = () => Promise.reject(new Error('no redirect'))
  // Nothing listens on the discard port.
  const fetch = createOriginOutbound({ origin: new URL('http://127.0.0.1:9'), version: '0', outbound })
  const options = { headers: {}, limit: 100, timeout: 5_000, redirects: 0 }
  for (const url of ['http://shop.example/robots.txt', 'http://127.0.0.1/robots.txt'])
    await t.rejects(fetch(url, options), { message: /^http:\/\/127\.0\.0\.1:9 / }, url)
})
