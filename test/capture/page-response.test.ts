import t from 'tap'
import { isPage } from '../../src/capture/page-response.js'

const paths: [pathname: string, page: boolean, why: string][] = [
  ['/', true, 'a page'],
  ['/favicon.ico', false, 'browsers ask for it by themselves'],
  ['/favicon-32x32.png', false, 'a size of it'],
  ['/apple-touch-icon-precomposed.png', false, 'an icon of a home screen'],
  ['/apple-touch-icon-120x120.png', false, 'a size of it'],
  ['/robots.txt', false, 'for crawlers'],
  ['/ads.txt', false, 'for advertisers'],
  ['/app-ads.txt', false, 'for advertisers in apps'],
  ['/security.txt', false, 'for finders of faults'],
  ['/llms.txt', false, 'for language models'],
  ['/sitemap.xml', false, 'for search engines'],
  ['/sitemap_index.xml', false, 'a list of sitemaps'],
  ['/sitemap-2.xml.gz', false, 'compressed'],
  ['/site.webmanifest', false, 'for installing a site'],
  ['/manifest.json', false, 'its older name'],
  ['/browserconfig.xml', false, 'for tiles'],
  ['/sw.js', false, 'a service worker'],
  ['/.well-known/security.txt', false, 'RFC 8615'],
  ['/.well-known/change-password', false, 'RFC 8615, whatever comes after it'],
  ['/sitemap', true, 'a page for people'],
  ['/favicon', true, 'no file'],
  ['/docs/robots.txt', true, 'RFC 9309 2.3: only the top of a host has a robots.txt'],
  ['/well-known/x', true, 'without the full stop'],
  ['/blog/manifest.json.html', true, 'about one'],
  ['/advertise', true, 'a page whose name begins alike'],
]
t.test('files that programs ask for by convention are no pages, even as HTML', async (t) => {
  for (const [pathname, page, why] of paths) {
    const observation = {
      ...{ timestamp: '2026-11-21T10:00:00.000Z', user_agent: '', hostname: 'example.com', pathname, method: 'GET' },
      ...{ bytes: 0, duration_ms: 0, content_type: 'text/html', conditional: 0 as const, ip: '' },
    }
    t.equal(isPage({ ...observation, status: 200 }), page, `${pathname}: ${why}`)
    t.equal(isPage({ ...observation, status: 404 }), false, `${pathname}: not found`)
  }
})
