import t from 'tap'
import { isFullBrowser, openBrowser } from '../fixtures/browser.js'
import { framed, hits, openTab, painted, TAG, trackedSite, VITALS, WINDOW } from '../fixtures/tracked.js'

/** 2880 px in a window of 720: a quarter is on screen at once. */
const TALL = '<style>body{margin:0}main{height:2880px}</style><main>'
/** Hides or shows a tab by emulation, because a headless tab never changes its visibility. */
const hide = (hidden: boolean) => `
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${hidden} })
  document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`

const browser = await openBrowser(t, ['--disable-back-forward-cache'])
/** Returns what a restored view reports; a browser that keeps no pages in memory loads the page again, which reports nothing. */
const restoredFrom = (r: string) => (isFullBrowser ? { r, d: 0, sc: 0 } : {})
const newTab = async () => openTab(await browser.newContext(WINDOW))

t.test('a visit to a plain site reports views, engagement and vitals', async (t) => {
  const { origin, told, raw, asked } = await trackedSite(t, {
    '/one': `${TALL}<a href="/two">two</a></main>${TAG}`,
    '/two': `<p>two</p>${TAG}`,
  })
  const { tab, said } = await newTab()
  await tab.goto(`${origin}/one?x=1#top`)
  const view = { s: 7, u: `${origin}/one?x=1`, w: 1280, h: 720, vw: 1280, vh: 720, l: 'en-US', tz: 'Europe/Berlin' }
  t.same(await raw(1), [{ ...view, v: '1.0.0' }], 'a view is reported at once and without the fragment')
  await painted(tab)
  await tab.evaluate('scrollTo(0, 1440)')
  await framed(tab)
  await tab.evaluate('scrollTo(0, 0)')
  await tab.click('a')
  t.same(
    await told(3),
    hits(
      { t: 'engagement', u: '/one?x=1', d: 'some', sc: 75 },
      { t: 'web_vitals', u: '/one?x=1', e: VITALS },
      { u: '/two', r: '/one?x=1' },
    ),
    'the deepest part on screen: (1440 + 720) of 2880',
  )
  await painted(tab)
  await tab.goBack({ waitUntil: 'commit' })
  t.same(
    await told(3),
    hits(
      { t: 'engagement', u: '/two', d: 'some', sc: 100 },
      { t: 'web_vitals', u: '/two', e: VITALS },
      { u: '/one?x=1', ...restoredFrom('/one?x=1') },
    ),
    'restored from the cache: a view, after its engagement was reported',
  )
  await tab.close({ runBeforeUnload: true })
  if (isFullBrowser)
    t.same(await told(1), hits({ t: 'engagement', u: '/one?x=1', d: 'some', sc: 25 }), 'vitals are reported once')
  t.same([...new Set(asked)], ['POST text/plain;charset=UTF-8'], 'no preflight is sent')
  t.same(said, [])
})

const SPA = `<style>body{margin:0}</style><main style="height:1440px">words</main><script>
  const app = (path, height, how = 'pushState') => {
    history[how]({}, '', path)
    document.querySelector('main').style.height = height + 'px'
  }</script>`

const WITHOUT_NAVIGATION = '<script>Object.defineProperty(window, "navigation", { value: undefined })</script>'
for (const [kind, before] of Object.entries({ today: '', before2022: WITHOUT_NAVIGATION }))
  t.test(`a single-page application reports each page in a browser of ${kind}`, async (t) => {
    const { origin, told } = await trackedSite(t, { '/a': before + SPA + TAG })
    const { tab, said } = await newTab()
    const turns: [string, object[], string][] = [
      ["app('/b', 7200)", [{ u: '/b', r: '/a', d: 'some', sc: 50 }], 'push: half of /a was on screen'],
      ["app('/b', 7200)", [], 'the current URL'],
      ["app('/b#part', 7200)", [], 'a fragment within the page'],
      ["app('/b?q=1', 7200, 'replaceState')", [], 'a replaced state is not a page'],
      ["app('/b?q=1', 7200)", [], 'the URL of the replaced state'],
      ["app('/b?q=2', 7200)", [{ u: '/b?q=2', r: '/b', d: 'some', sc: 10 }], 'another query is another page'],
      ["app('/c', 720, 'replaceState')", [{ u: '/c', r: '/b?q=2', d: 'some', sc: 10 }], 'replaced by another path'],
      ['history.back()', [{ u: '/b?q=1', r: '/c', d: 'some', sc: 100 }], 'back to the state that replaced'],
      ['history.go(-3)', [{ u: '/b', r: '/b?q=1', d: 'some', sc: 100 }], 'many back; the same height as /c'],
      [
        "scrollTo(0, 0); app('/d', 720); app('/e', 720)",
        [
          { u: '/d', r: '/b', d: 'some', sc: 100 },
          { u: '/e', r: '/d', d: 'SOME OR 0', sc: 'SOME OR 0' },
        ],
        'two at once',
      ],
    ]
    await tab.goto(`${origin}/a`)
    await told(1)
    await painted(tab)
    for (const [code, expected, why] of turns) {
      await tab.evaluate(code)
      const got = await told(expected.length)
      if (why === 'two at once') {
        t.same(
          got.map(({ u, r }) => [u, r]),
          [
            ['/d', '/b'],
            ['/e', '/d'],
          ],
          why,
        )
      } else t.same(got, hits(...expected), `${code}: ${why}`)
    }
    await tab.goto(`${origin}/away`)
    t.same(
      await told(2),
      hits({ t: 'engagement', u: '/e', d: 'some', sc: 100 }, { t: 'web_vitals', u: '/a', e: VITALS }),
      'vitals belong to the page that was loaded',
    )
    t.same(said, [])
  })

t.test('a router that the tracker cannot wrap is heard', async (t) => {
  const early = `<script>
    const [push, replace] = [history.pushState, history.replaceState].map((act) => act.bind(history, {}, ''))
    navigation.addEventListener('navigate', (event) => event.intercept())</script>`
  const { origin, told } = await trackedSite(t, { '/a': early + TAG })
  const { tab, said } = await newTab()
  await tab.goto(`${origin}/a`)
  await told(1)
  const turns: [string, string[], string][] = [
    ["push('/b')", ['/a > /b'], 'a function that was kept before the tracker loaded'],
    ["push('/b#part')", [], 'a fragment within the page'],
    ["replace('/b?q=1')", [], 'a replaced state is not a page'],
    ["replace('/c')", ['/b > /c'], 'replaced by another path'],
    ["navigation.navigate('/d').finished", ['/c > /d'], 'the Navigation API'],
    ["navigation.navigate('/d?q=1', { history: 'replace' }).finished", [], 'a state that it replaces'],
    ["history.pushState({}, '', '/e')", ['/d > /e'], 'a function that the tracker wrapped counts once'],
    ['navigation.back().finished', ['/e > /d?q=1'], 'back'],
  ]
  for (const [code, expected, why] of turns) {
    await tab.evaluate(`Promise.resolve(${code}).then(() => {})`)
    t.same(
      (await told(expected.length)).map(({ r, u }) => `${r} > ${u}`),
      expected,
      `${code}: ${why}`,
    )
  }
  t.same(said, [])
})

t.test('routes in the fragment are pages of their own', async (t) => {
  const { origin, told } = await trackedSite(t, {
    '/': SPA + TAG.replace('defer', 'defer data-hash'),
    '/plain': SPA + TAG,
  })
  const { tab, said } = await newTab()
  await tab.goto(`${origin}/#/start?x=1`)
  t.same(await told(1), hits({ u: '/#/start?x=1' }))
  await tab.evaluate("location.hash = '/next'")
  t.same(await told(1), hits({ u: '/#/next', r: '/#/start?x=1', d: 'some', sc: 50 }))
  await tab.evaluate("app('/#/next?state', 1440, 'replaceState')")
  t.same(await told(0), [])
  await tab.evaluate('history.back()')
  t.same(await told(1), hits({ u: '/#/start?x=1', r: '/#/next', d: 'some', sc: 50 }))
  await tab.goto(`${origin}/plain`)
  await told(3)
  await tab.evaluate("location.hash = '/next'")
  t.same(await told(0), [], 'fragments count only with data-hash')
  t.same(said, [])
})

t.test('only visible pages are reported', async (t) => {
  const { origin, told, raw } = await trackedSite(t, {
    '/': `<a href="/behind">behind</a><iframe srcdoc="<input id=inner>"></iframe>${SPA}${TAG}`,
    '/behind': SPA + TAG,
  })
  const context = await browser.newContext(WINDOW)
  const { tab, said } = await openTab(context)
  const opened = Date.now()
  await tab.goto(`${origin}/`)
  await raw(1)
  const session = await context.newCDPSession(tab)
  await session.send('Emulation.setFocusEmulationEnabled', { enabled: false })
  const second = await context.newPage()
  await second.bringToFront()
  if (isFullBrowser) t.equal(await tab.evaluate('document.hasFocus()'), false)
  await tab.evaluate('new Promise((resolve) => setTimeout(resolve, 600))')
  await tab.bringToFront()
  await second.close()
  t.equal(await tab.evaluate('document.hasFocus()'), true)
  await tab.evaluate('new Promise((resolve) => setTimeout(resolve, 200))')
  await tab.evaluate(hide(true))
  const [first, vitals] = (await raw(2)).sort((a) => (a.t === 'engagement' ? -1 : 1))
  t.equal(vitals?.t, 'web_vitals')
  // A headless shell gives each tab the focus.
  const most = Date.now() - opened - (isFullBrowser ? 600 : 0)
  t.ok(Number(first?.d) >= 200 && Number(first?.d) <= most, `${first?.d} ms with the focus`)
  await tab.evaluate("app('/x', 2880); app('/y', 2880); new Promise((resolve) => setTimeout(resolve, 300))")
  t.same(await told(0), [], 'pages that are turned while hidden')
  await tab.evaluate(hide(false))
  t.same(await told(1), hits({ u: '/y', r: '/', d: 0, sc: 0 }), 'the page that is current when it becomes visible')
  await tab.focus('iframe')
  await tab.frameLocator('iframe').locator('#inner').focus()
  await tab.evaluate('new Promise((resolve) => setTimeout(resolve, 300))')
  await tab.evaluate(hide(true))
  const [inFrame] = await raw(1)
  t.ok(Number(inFrame?.d) >= 300, `${inFrame?.d} ms with the focus in a frame of the page`)
  await tab.evaluate(hide(true))
  t.same(await told(0), [], 'hiding twice reports nothing more')
  await tab.evaluate(hide(false))
  t.same(said, [])
  if (!isFullBrowser) return t.comment('this browser does not load a tab in the background')
  const [behind] = await Promise.all([context.waitForEvent('page'), tab.click('a', { modifiers: ['Control'] })])
  await behind.waitForLoadState()
  await behind.bringToFront()
  t.same(await told(1), hits({ u: '/behind', r: '/y' }), 'the page began in the background')
  // The browser decides whether the page began hidden.
  const began = await behind.evaluate("performance.getEntriesByType('visibility-state')[0].name")
  if (began !== 'hidden') await painted(behind)
  await behind.goto(`${origin}/away`)
  t.same(
    (await told(2)).filter((hit) => hit.t === 'web_vitals'),
    hits({ t: 'web_vitals', u: '/behind', e: began === 'hidden' ? 'ttfb' : 'cls fcp lcp ttfb' }),
    'no visitor waited for its paint',
  )
  t.same(said, [])
})

t.test('a hidden page gains no engaged time, however slow the machine', async (t) => {
  // Between two looks at the clock a slow machine may pause.
  const slow = `<input style="position:fixed"><script>
    const now = performance.now.bind(performance)
    let looks = 0
    performance.now = () => now() + 20 * looks++
    onload = () => addEventListener('pagehide', () => document.querySelector('input').focus())
  </script>`
  const { origin, told, raw } = await trackedSite(t, {
    '/': slow + SPA + TAG,
    '/next': `<p>next</p>${TAG}`,
    '/unseen': `<script>${hide(true)}</script>${SPA}${TAG}`,
  })
  const { tab, said } = await newTab()
  await tab.goto(`${origin}/`)
  await told(1)
  await painted(tab)
  await tab.goto(`${origin}/next`)
  t.same(
    await told(3),
    hits({ t: 'engagement', u: '/', d: 'some', sc: 50 }, { t: 'web_vitals', u: '/', e: VITALS }, { u: '/next' }),
  )
  await painted(tab)
  await tab.waitForTimeout(300)
  await tab.goBack({ waitUntil: 'commit' })
  t.same(
    await told(3),
    hits(
      { t: 'engagement', u: '/next', d: 'some', sc: 100 },
      { t: 'web_vitals', u: '/next', e: VITALS },
      { u: '/', ...restoredFrom('/') },
    ),
    'restored, though the focus moved while the page was left',
  )
  await tab.evaluate(hide(true))
  const [left] = await raw(1)
  t.ok(Number(left?.d) >= 100, `${left?.d} ms since it was restored`)
  await tab.evaluate("app('/behind', 1440)")
  await tab.evaluate(hide(false))
  t.same(await told(1), hits({ u: '/behind', r: '/', d: 0, sc: 0 }), 'turned while hidden')
  await tab.goto(`${origin}/unseen`)
  await told(1)
  await tab.goto(`${origin}/next`)
  t.same(await told(1), hits({ u: '/next' }), 'left before it was visible')
  await tab.goBack({ waitUntil: 'commit' })
  await told(2)
  await tab.evaluate(hide(false))
  t.same(await told(1), hits({ u: '/unseen' }), 'restored and visible for the first time')
  await tab.evaluate(hide(true))
  t.same(
    await told(2),
    hits({ t: 'engagement', u: '/unseen', d: 'some', sc: 50 }, { t: 'web_vitals', u: '/unseen', e: 'ttfb' }),
    'visible since it was restored',
  )
  t.same(said, [])
})

t.test('a prerendered page reports nothing until it is shown', async (t) => {
  const { origin, told } = await trackedSite(t, {
    '/': `<script>
      document.write('words')
      readership = []
      Object.defineProperty(document, 'prerendering', { configurable: true, get: () => document.hidden })
      ${hide(true)}
      addEventListener('load', () => {
        readership.track('Early')
        readership.identify('ann', { plan: 'pro' })
        setTimeout(() => { throw Object.assign(new Error('soon'), { stack: '' }) }, 50)
      })
    </script>${TAG}`,
  })
  const { tab } = await newTab()
  await tab.goto(`${origin}/`)
  await tab.waitForTimeout(400)
  t.same(await told(0), [])
  await tab.evaluate(hide(false))
  t.same(
    await told(4),
    hits(
      { u: '/', id: 'ann' },
      { u: '/', id: 'ann', t: 'custom', n: 'Early' },
      { u: '/', id: 'ann', t: 'engagement', p: { plan: 'pro' } },
      { u: '/', id: 'ann', t: 'error', p: { type: 'Error', message: 'soon' } },
    ),
  )
  await tab.evaluate('delete document.hidden')
  await painted(tab)
  await tab.goto(`${origin}/away`)
  t.same(
    await told(2),
    hits({ t: 'engagement', u: '/', id: 'ann', d: 'some', sc: 100 }, { t: 'web_vitals', u: '/', id: 'ann', e: VITALS }),
  )
})

t.test('vitals are measured as web.dev defines them', async (t) => {
  const { origin, raw } = await trackedSite(t, {
    '/': {
      delay: 200,
      body: `<style>body{margin:0}</style><div style="height:288px">moves</div><button>slow</button><script>
        const hold = (ms) => { for (const end = performance.now() + ms; performance.now() < end;); }
        document.querySelector('button').onclick = () => hold(250)
        const measured = []
        for (const type of ['event', 'layout-shift'])
          new PerformanceObserver((list) => measured.push(...list.getEntries())).observe({ type, durationThreshold: 40 })
        const move = () => document.body.insertAdjacentHTML('afterbegin', '<div style="height:128px"></div>')
      </script>${TAG}`,
    },
  })
  const { tab, said } = await newTab()
  await tab.goto(`${origin}/`)
  await painted(tab)
  await tab.evaluate('move()')
  await tab.waitForFunction('measured.some(({ value }) => value)')
  await tab.click('button')
  // An interaction is measured only when the next frame is painted.
  await tab.waitForFunction("measured.some(({ name }) => name === 'click')")
  await tab.goto(`${origin}/away`)
  const { lcp = 0, cls, inp = 0, fcp = 0, ttfb = 0 } = (await raw(3)).find((hit) => hit.t === 'web_vitals')?.e ?? {}
  t.ok(ttfb >= 200, `${ttfb} ms: the server took 200`)
  t.ok(fcp >= ttfb && lcp >= fcp && lcp < 60_000, `${fcp}, ${lcp} ms`)
  t.ok(inp >= 250 && inp < 60_000, `${inp} ms: the page held for 250`)
  // Impact fraction times distance fraction. The div: (288 + 128) / 720 * 128 / 1280 = 0.05778. The button, 21.5 px high
  // and narrow, adds a little.
  t.ok(Number(cls) >= 0.0577 && Number(cls) <= 0.061, `${cls}`)
  t.same(said, [])
})

t.test('describes the document once, as a browser shows it', async (t) => {
  const rows: [string, string, unknown, string][] = [
    [
      '/plain',
      '<h1>Oak  tables</h1>\n<p>Made <a href="/a">here</a></p>',
      [17, 1, 1, 'Oak tables Made here'],
      'a page as served',
    ],
    [
      '/shell',
      `<main></main><script>document.querySelector('main').innerHTML = '<h1>Oak</h1><h2>Ash</h2><a href="/x">Elm</a><a>no link</a>'</script>`,
      [15, 1, 2, 'Oak Ash Elmno link'],
      'a shell that its script fills',
    ],
    ['/hidden', '<p hidden>secret</p><style>p{}</style><script>1</script>', [0, 0, 0, ''], 'nothing that is not shown'],
    ['/long', 'ä'.repeat(130), [130, 0, 0, 'ä'.repeat(120)], 'the first line is cut'],
    ['/large', '<i></i>'.repeat(3000), undefined, 'a document whose text takes long to read'],
    [
      '/turned',
      "<p>one</p><script>addEventListener('load', () => history.pushState({}, '', '/later'))</script>",
      undefined,
      'another page of the same document',
    ],
  ]
  const { origin, raw } = await trackedSite(t, Object.fromEntries(rows.map(([path, body]) => [path, `${body}${TAG}`])))
  for (const [path, , expected, why] of rows) {
    const { tab } = await newTab()
    await tab.goto(`${origin}${path}`)
    await tab.evaluate(
      `new Promise((resolve) => (document.readyState === 'complete' ? resolve() : addEventListener('load', resolve)))`,
    )
    await tab.evaluate(hide(true))
    const found: Awaited<ReturnType<typeof raw>> = []
    while (!found.some(({ t }) => t === 'web_vitals')) found.push(...(await raw(1)))
    t.strictSame(found.find(({ t }) => t === 'web_vitals')?.b, expected, why)
    await tab.context().close()
  }
})
