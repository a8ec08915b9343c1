import t from 'tap'
import { siteUrl } from '../../src/api/site-url.js'

t.test('the URL at which readers reach a site', async (t) => {
  for (const [domains, listener, expected, why] of [
    [['www.example.com'], undefined, 'https://www.example.com/', 'a collector: the first domain'],
    [
      ['www.example.com', 'example.com'],
      'http://localhost:8080',
      'https://www.example.com/',
      'behind a server with TLS',
    ],
    [['example.com'], 'https://localhost:8443', 'https://example.com:8443/', 'with a certificate of its own'],
    [['example.com'], 'https://localhost:443', 'https://example.com/', 'at the port of HTTPS'],
    [[], 'http://localhost:8080', 'http://localhost:8080/', 'no domain: the listener, with its port'],
    [['localhost'], 'http://127.0.0.1:8080', 'http://localhost:8080/', 'a name of this machine: with the port'],
    [['127.0.0.1'], 'http://localhost:8080', 'http://127.0.0.1:8080/', 'an address'],
    [['shop.localhost'], 'http://localhost:8080', 'http://shop.localhost:8080/', 'a name below localhost'],
    [['intranet'], 'http://localhost:8080', 'http://intranet:8080/', 'a name of one network'],
    [['[::1]'], 'http://localhost:8080', 'http://[::1]:8080/', 'an IPv6 address'],
    [[], 'https://shop.example/path', 'https://shop.example/', 'inside an application: its origin, without a path'],
    [[], undefined, undefined, 'a collector whose site has no domain: not known'],
    [['localhost'], undefined, undefined, 'a name of another machine: not known'],
  ] as const)
    t.equal(siteUrl({ domains: [...domains] }, listener), expected, why)
})
