import t from 'tap'
import { z } from 'zod'
import { loadDashboardModule } from '../../fixtures/dashboard-module.js'

const { pageAddress } = z
  .object({ pageAddress: z.custom<(hostname: string, pathname: string, site: string | undefined) => string>() })
  .parse(await loadDashboardModule('state/page-address.ts'))

t.test('the address of a page', async (t) => {
  const rows: [hostname: string, pathname: string, site: string | undefined, expected: string, why: string][] = [
    ['localhost', '/pricing', 'http://localhost:8080/', 'http://localhost:8080/pricing', 'the port of the site'],
    ['www.example.com', '/a', 'https://www.example.com:8443/', 'https://www.example.com:8443/a', 'with a certificate'],
    ['shop.example.com', '/a', 'https://www.example.com/', 'https://shop.example.com/a', 'another hostname'],
    ['www.example.com', '/a', undefined, 'https://www.example.com/a', 'the address of the site is not known'],
    ['localhost', '/a', undefined, 'http://localhost/a', 'a local site has no certificate'],
    ['127.0.0.1', '/a', 'http://localhost:8080/', 'http://127.0.0.1/a', 'another local name'],
    ['localhost', '//evil.example/', 'http://localhost:8080/', 'http://localhost:8080//evil.example/', 'no other site'],
  ]
  for (const [hostname, pathname, site, expected, why] of rows)
    t.equal(pageAddress(hostname, pathname, site), expected, why)
})
