import t from 'tap'
import { createNearestPage, type LivingPage } from '../../../src/analytics/query/nearest-page.js'

const page = (pathname: string, hostname = 'a.example'): LivingPage => ({ hostname, pathname, in_sitemap: false })
const LIVING = [
  ...['/', '/tides', '/articles/', '/articles/fog-signals', '/articles/reading-a-tide-table', '/places/the-skerry'],
  ...['/issues/1', '/issues/3', '/deep/down/lamp-room', '/Caf%C3%A9', '/docs/index.html', '/docs/setup', '/help/setup'],
].map((pathname) => page(pathname))

t.test('the nearest living page, and why', async (t) => {
  const nearest = createNearestPage([...LIVING, page('/elsewhere/only', 'b.example')])
  const rows: [pathname: string, expected: [pathname: string, reason: string] | undefined, why: string][] = [
    ['/articles/fog-signals.html', ['/articles/fog-signals', 'same_name'], 'an extension'],
    ['/articles/fog-signals/', ['/articles/fog-signals', 'same_name'], 'a slash at the end'],
    ['/Articles/Fog-Signals', ['/articles/fog-signals', 'same_name'], 'other letters'],
    ['/caf%c3%a9', ['/Caf%C3%A9', 'same_name'], 'another encoding'],
    ['/docs', ['/docs/index.html', 'same_name'], 'an index'],
    ['/lamp-room', ['/deep/down/lamp-room', 'moved'], 'the same name elsewhere'],
    ['/old/setup', ['/docs/setup', 'moved'], 'of two the one that is read more'],
    ['/articles/fog-signal', ['/articles/fog-signals', 'spelling'], 'a letter is missing'],
    ['/articles/fgo-signals', ['/articles/fog-signals', 'spelling'], 'two letters changed places'],
    ['/articles/a-tide-table', ['/articles/reading-a-tide-table', 'words'], 'two of three words'],
    ['/tides/today', ['/tides', 'parent'], 'the folder'],
    ['/articles/x/y/z', ['/articles/', 'parent'], 'the nearest folder that is a page'],
    ['/issues/2', undefined, 'a number that differs names another page'],
    ['/surge', undefined, 'the home page is near to nothing'],
    ['/only', undefined, 'a page of another hostname'],
    ['/tides', undefined, 'a page that lives'],
    ['/%', undefined, 'no encoding'],
    [`/${'x'.repeat(2_000)}`, undefined, 'a long name'],
  ]
  for (const [pathname, expected, why] of rows) {
    const found = nearest({ hostname: 'a.example', pathname })
    t.strictSame(found && [found.pathname, found.reason], expected, why)
  }
})

t.test('5,000 hostile pages and 1,000 hostile addresses take bounded time', async (t) => {
  const word = (i: number) => i.toString(36).replace(/\d/g, (d) => 'ghijklmnop'[Number(d)] ?? 'x')
  const names = Array.from({ length: 5_000 }, (_, i) => `/f/${'same-words-here-'.repeat(4)}${word(i)}`)
  const nearest = createNearestPage(names.map((pathname) => page(pathname)))
  const begun = performance.now()
  for (let i = 0; i < 1_000; i++) nearest({ hostname: 'a.example', pathname: `/f/${'y'.repeat(70)}${word(i)}` })
  const ms = performance.now() - begun
  t.comment(`${Math.round(ms)} ms`)
  t.ok(ms < 20_000)
})
