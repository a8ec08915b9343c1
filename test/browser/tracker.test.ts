import t from 'tap'
import { openBrowser } from '../fixtures/browser.js'
import { framed, hits, openTab, painted, SCRIPT, TAG, trackedSite, WINDOW } from '../fixtures/tracked.js'

/** 2880 px in a window of 720: a quarter is on screen at once. */
const TALL = '<style>body{margin:0}main{height:2880px}</style><main>'
const VITALS = 'cls fcp lcp ttfb'
/** Hides or shows a tab by emulation, because a headless tab never changes its visibility. */
const hide = (hidden: boolean) => `
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${hidden} })
  document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`

const browser = await openBrowser(t, ['--disable-back-forward-cache'])
const newTab = async () => openTab(await browser.newContext(WINDOW))

t.test('a visit to a plain site reports views, engagement and vitals', async (t) => {
  const { origin, told, raw, asked } = await trackedSite(t, {
    '/one': `${TALL}<a href="/two">two</a></main>${TAG}`,
    '/two': `<p>two</p>${TAG}`,
  })
  const { tab, said } = await newTab()
  await tab.goto(`${origin}/one?x=1#top`)
  const view = { s: 7, u: `${origin}/one?x=1`, w: 1280, h: 720, vw: 1280, vh: 720, l: 'en-US', tz: 'Europe/Berlin' }
  t.same(await raw(1), [{ ...view, v: '0.1.0' }], 'as it is seen; what follows # is the page own affair')
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
    'the deepest that was on screen: (1440 + 720) of 2880',
  )
  await painted(tab)
  await tab.goBack({ waitUntil: 'commit' })
  t.same(
    await told(3),
    hits(
      { t: 'engagement', u: '/two', d: 'some', sc: 100 },
      { t: 'web_vitals', u: '/two', e: VITALS },
      { u: '/one?x=1', r: '/one?x=1', d: 0, sc: 0 },
    ),
    'restored from the cache: a view, of which nothing is left to tell',
  )
  await tab.close({ runBeforeUnload: true })
  t.same(await told(1), hits({ t: 'engagement', u: '/one?x=1', d: 'some', sc: 25 }), 'vitals are told once')
  t.same([...new Set(asked)], ['POST text/plain;charset=UTF-8'], 'nothing is asked beforehand')
  t.same(said, [])
})

t.test('clicks on links and files, forms and declared events are reported', async (t) => {
  const site = await trackedSite(t, {})
  const { origin, other, told } = await trackedSite(t, {
    '/': `
      <a id="out" href="${site.other}/x?y=1#z"><b>out</b></a>
      <a id="same" href="/same">same</a><a id="mail" href="mailto:a@b.example">mail</a><a id="none">none</a>
      <a id="script" href="javascript:void 0">script</a>
      <a id="pdf" href="/a/Paper.PDF?v=2">pdf</a><a id="far" href="${site.other}/data.csv">csv</a>
      <a id="named-file" href="/report" download>report</a><a id="html" href="/pdf.html">html</a>
      <a id="offer" href="${site.other}/offer" data-readership-event="Offer">offer</a>
      <div id="host"></div>
      <div data-readership-event="Outer"><button id="buy" data-readership-event="Buy" data-readership-plan="pro"
        data-readership-price-eur="9.50" data-other="x"><i>buy</i></button><button id="outer">outer</button></div>
      <form id="signup" action="/never"><input name="id" value="1"><input name="name"><button>go</button></form>
      <form name="search" action="/find?x"><input name="action"><button>go</button></form>
      <form action="/deep/er?q=1" data-readership-event="Asked" data-readership-kind="short"><button>go</button></form>
      <form><button>go</button></form>
      <script>
        document.querySelector('#host').attachShadow({ mode: 'open' }).innerHTML = '<a href="${site.other}/in">in</a>'
        window.seen = []
        for (const type of ['click', 'auxclick', 'submit']) document.addEventListener(type, (event) => {
          seen.push([type, event.defaultPrevented])
          if (type === 'submit' || event.composedPath()[0].closest('a')) event.preventDefault()
        })
        document.querySelector('#out').addEventListener('click', (event) => event.stopPropagation())
        document.querySelector('#out').addEventListener('click', (event) => event.preventDefault())
      </script>${TAG}`,
  })
  const { tab, said } = await newTab()
  await tab.goto(`${origin}/`)
  await told(1)
  const out = { u: '/', t: 'outbound', p: { url: `${site.other}/x?y=1#z` } }
  const clicks: [string, object, object[], string][] = [
    ['#out b', {}, [out], 'whatever the page own handlers do'],
    ['#out', { modifiers: ['Control'] }, [out], 'into a background tab'],
    ['#out', { button: 'middle' }, [out], 'the middle button'],
    ['#out', { button: 'right' }, [], 'a menu is no visit'],
    ['#same', {}, [], 'the same host'],
    ['#mail', {}, [], 'nothing of the web'],
    ['#none', {}, [], 'leads nowhere'],
    ['#script', {}, [], 'code'],
    ['#pdf', {}, [{ u: '/', t: 'file_download', p: { url: '/a/Paper.PDF?v=2' } }], 'by its ending'],
    ['#far', {}, [{ u: '/', t: 'file_download', p: { url: `${site.other}/data.csv` } }], 'a file wherever it lies'],
    ['#named-file', {}, [{ u: '/', t: 'file_download', p: { url: '/report' } }], 'by its attribute'],
    ['#html', {}, [], 'a page'],
    [
      '#offer',
      {},
      [
        { u: '/', t: 'custom', n: 'Offer', p: {} },
        { u: '/', t: 'outbound', p: { url: `${site.other}/offer` } },
      ],
      'both',
    ],
    ['#host a', {}, [{ u: '/', t: 'outbound', p: { url: `${site.other}/in` } }], 'in a shadow tree'],
    ['#buy i', {}, [{ u: '/', t: 'custom', n: 'Buy', p: { plan: 'pro', 'price-eur': '9.50' } }], 'the nearest'],
    ['#outer', {}, [{ u: '/', t: 'custom', n: 'Outer', p: {} }], 'of what it is in'],
    ['#outer', { button: 'middle' }, [], 'which does nothing there'],
    ['#signup button', {}, [{ u: '/', t: 'form', p: { form: 'signup' } }], 'id, whatever the fields are called'],
    ['[name=search] button', {}, [{ u: '/', t: 'form', p: { form: 'search' } }], 'name'],
    [
      '[data-readership-kind] button',
      {},
      [
        { u: '/', t: 'form', p: { form: '/deep/er' } },
        { u: '/', t: 'custom', n: 'Asked', p: { kind: 'short' } },
      ],
      'path of its action; its event is its submission',
    ],
    ['form:last-of-type button', {}, [{ u: '/', t: 'form', p: { form: '/' } }], 'it goes to its own page'],
  ]
  for (const [selector, how, expected, why] of clicks) {
    await tab.click(selector, how)
    t.same(await told(expected.length), hits(...expected), `${selector} ${JSON.stringify(how)}: ${why}`)
  }
  t.equal(await tab.evaluate('seen.filter(([, prevented]) => prevented).length'), 0, 'nothing is prevented by us')
  t.equal(await tab.evaluate('seen.length'), 23, 'and all of it arrives')
  t.ok(other)
  t.same(said, [])
})

t.test('a click that leaves the site in the same tab is reported', async (t) => {
  const away = await trackedSite(t, { '/x': 'gone' })
  const { origin, told } = await trackedSite(t, { '/': `<a href="${away.other}/x">out</a>${TAG}` })
  const { tab, said } = await newTab()
  await tab.goto(`${origin}/`)
  await told(1)
  await painted(tab)
  await tab.click('a')
  t.same(
    await told(3),
    hits(
      { u: '/', t: 'outbound', p: { url: `${away.other}/x` } },
      { t: 'engagement', u: '/', d: 'some', sc: 100 },
      { t: 'web_vitals', u: '/', e: VITALS },
    ),
  )
  t.equal(tab.url(), `${away.other}/x`)
  t.same(said, [])
})

t.test('each error is reported once, ten at most', async (t) => {
  const { origin, told } = await trackedSite(t, { '/': `<img src="data:image/png,broken">${TAG}` })
  const { tab } = await newTab()
  await tab.goto(`${origin}/`)
  await told(1)
  const throwing = (code: string, times = 1) =>
    tab.addScriptTag({
      content: `for (let i = 0; i < ${times}; i++) setTimeout(() => { ${code} })\n//# sourceURL=a.js`,
    })
  const errors: [string, object[], string][] = [
    [
      'null.x',
      [
        {
          type: 'TypeError',
          message: "Cannot read properties of null (reading 'x')",
          frame: 'at a.js:1:53',
        },
      ],
      'with where it happened',
    ],
    ['throw "just text"', [{ type: 'Error', message: 'Uncaught just text' }], 'no error, so no stack'],
    [
      'Promise.reject(Object.assign(new Error("late"), { stack: "" }))',
      [{ type: 'Error', message: 'late' }],
      'promise',
    ],
    ['Promise.reject(undefined)', [{ type: 'Error', message: 'undefined' }], 'rejected with nothing'],
    ['throw { get name() { throw 1 } }', [], 'what cannot be read is left alone'],
    [
      `throw Object.assign(new RangeError("x".repeat(700)), { stack: "a\\nfoo@http://h/b.js:1:2\\nbar@http://h/c.js:3:4" })`,
      [{ type: 'RangeError', message: 'x'.repeat(500), frame: 'foo@http://h/b.js:1:2' }],
      'cut; the top frame as other browsers write it',
    ],
  ]
  for (const [code, expected, why] of errors) {
    await throwing(code, 3)
    t.same(
      await told(expected.length),
      expected.map((p) => ({ u: '/', t: 'error', p })),
      why,
    )
  }
  await throwing('throw Object.assign(new Error(i), { stack: "" })', 20)
  t.equal((await told(5)).length, 5, 'ten with the five before')
})

const SPA = `<style>body{margin:0}</style><main style="height:1440px">words</main><script>
  const app = (path, height, how = 'pushState') => {
    history[how]({}, '', path)
    document.querySelector('main').style.height = height + 'px'
  }</script>`

t.test('a single-page application reports each page', async (t) => {
  const { origin, told } = await trackedSite(t, { '/a': SPA + TAG })
  const { tab, said } = await newTab()
  const turns: [string, object[], string][] = [
    ["app('/b', 7200)", [{ u: '/b', r: '/a', d: 'some', sc: 50 }], 'push: half of /a was on screen'],
    ["app('/b', 7200)", [], 'to where it is'],
    ["app('/b#part', 7200)", [], 'within the page'],
    ["app('/b?q=1', 7200, 'replaceState')", [], 'a state, no page'],
    ["app('/b?q=1', 7200)", [], 'where the state has it already'],
    ["app('/b?q=2', 7200)", [{ u: '/b?q=2', r: '/b', d: 'some', sc: 10 }], 'another search, a page of its own'],
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
    'what was measured is of the page that was loaded',
  )
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
  t.same(await told(0), [], 'unless asked for')
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
  t.equal(await tab.evaluate('document.hasFocus()'), false)
  await tab.evaluate('new Promise((resolve) => setTimeout(resolve, 600))')
  await tab.bringToFront()
  await second.close()
  t.equal(await tab.evaluate('document.hasFocus()'), true)
  await tab.evaluate('new Promise((resolve) => setTimeout(resolve, 200))')
  await tab.evaluate(hide(true))
  const [first, vitals] = (await raw(2)).sort((a) => (a.t === 'engagement' ? -1 : 1))
  t.equal(vitals?.t, 'web_vitals')
  t.ok(Number(first?.d) >= 200 && Number(first?.d) <= Date.now() - opened - 600, `${first?.d} ms with the focus`)
  await tab.evaluate("app('/x', 2880); app('/y', 2880); new Promise((resolve) => setTimeout(resolve, 300))")
  t.same(await told(0), [], 'a page loaded in the background')
  await tab.evaluate(hide(false))
  t.same(await told(1), hits({ u: '/y', r: '/', d: 0, sc: 0 }), 'the page that is current when it becomes visible')
  await tab.focus('iframe')
  await tab.frameLocator('iframe').locator('#inner').focus()
  await tab.evaluate('new Promise((resolve) => setTimeout(resolve, 300))')
  await tab.evaluate(hide(true))
  const [inFrame] = await raw(1)
  t.ok(Number(inFrame?.d) >= 300, `${inFrame?.d} ms, the focus in a frame of it`)
  await tab.evaluate(hide(true))
  t.same(await told(0), [], 'hidden is hidden')
  await tab.evaluate(hide(false))
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
      { u: '/', r: '/', d: 0, sc: 0 },
    ),
    'restored, though its focus had moved as it went',
  )
  await tab.evaluate(hide(true))
  const [left] = await raw(1)
  t.ok(Number(left?.d) >= 100, `${left?.d} ms since it was restored`)
  await tab.evaluate("app('/behind', 1440)")
  await tab.evaluate(hide(false))
  t.same(await told(1), hits({ u: '/behind', r: '/', d: 0, sc: 0 }), 'turned behind')
  await tab.goto(`${origin}/unseen`)
  await told(1)
  await tab.goto(`${origin}/next`)
  t.same(await told(1), hits({ u: '/next' }), 'gone before it was visible')
  await tab.goBack({ waitUntil: 'commit' })
  await told(2)
  await tab.evaluate(hide(false))
  t.same(await told(1), hits({ u: '/unseen' }), 'restored, and seen for the first time')
  await tab.evaluate(hide(true))
  t.same(
    await told(2),
    hits({ t: 'engagement', u: '/unseen', d: 'some', sc: 50 }, { t: 'web_vitals', u: '/unseen', e: 'ttfb' }),
    'from then on it was visible',
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

t.test('calls before and after the script loads are sent', async (t) => {
  const { origin, told } = await trackedSite(t, {
    '/': `<script>
      (window.readership = window.readership || []).push((r) => r.identify(42, { plan: 'free' }))
      readership.push(() => { throw new Error('the own fault of a page') })
      readership.push((r) => r.track('Early', { currency: 'EUR', price: 9.5 }))
    </script>${TAG}`,
    '/element': `<p id="readership">a page about it</p>${TAG}`,
  })
  const { tab, said } = await newTab()
  await tab.goto(`${origin}/`)
  const ann = { u: '/', id: '42' }
  t.same(
    await told(3),
    hits(
      ann,
      { ...ann, t: 'engagement', p: { plan: 'free' } },
      { ...ann, t: 'custom', n: 'Early', p: { currency: 'EUR', price: 9.5 } },
    ),
  )
  const calls: [string, object[], string][] = [
    ["readership.identify(42, { plan: 'free' })", [], 'nothing new'],
    ["readership.identify('42', { plan: 'pro' })", [{ ...ann, t: 'engagement', p: { plan: 'pro' } }], 'other traits'],
    ["readership.track('Late')", [{ ...ann, t: 'custom', n: 'Late' }], 'no properties'],
    ["readership.push((r) => r.track('Pushed'))", [{ ...ann, t: 'custom', n: 'Pushed' }], 'as before'],
    ['const loop = {}; loop.loop = loop; readership.track("Loop", loop)', [], 'what is no JSON'],
    ['readership.track("Big", 1n)', [], 'nor this'],
    ['readership.push(); readership.identify({ toString: 1 })', [], 'nor what is no call and no id'],
    ['readership.identify(null); readership.track("Out")', [{ u: '/', t: 'custom', n: 'Out' }], 'nobody again'],
  ]
  for (const [code, expected, why] of calls) {
    await tab.evaluate(`{ ${code} }`)
    t.same(await told(expected.length), hits(...expected), `${code}: ${why}`)
  }
  await tab.goto(`${origin}/element`)
  t.ok(
    (await told(3)).some(({ u }) => u === '/element'),
    'an element of that name does no harm',
  )
  t.same(said, [])
})

t.test('an opt-out lasts, and is the only thing that is stored', async (t) => {
  const { origin, told } = await trackedSite(t, { '/': TAG })
  const context = await browser.newContext(WINDOW)
  const { tab, said } = await openTab(context)
  const { tab: neighbour } = await openTab(context)
  await tab.goto(`${origin}/`)
  await neighbour.goto(`${origin}/`)
  await told(2)
  const state = '[Object.entries(localStorage), sessionStorage.length, document.cookie]'
  t.same(await tab.evaluate(state), [[], 0, ''])
  await tab.evaluate('readership.optOut()')
  const out = [[['readership-opt-out', '1']], 0, 'readership-opt-out=1']
  t.same(await tab.evaluate(state), out, 'the cookie for the server, which records by itself')
  await context.clearCookies()
  for (const { evaluate } of [tab, neighbour].map((one) => ({ evaluate: one.evaluate.bind(one) })))
    await evaluate('readership.track("X"); readership.identify(1)')
  await tab.goto(`${origin}/`)
  await neighbour.goto(`${origin}/away`)
  t.same(await told(0), [], 'in every tab, and after it was loaded again')
  t.same(await tab.evaluate(state), out, 'of the two the server is told again')
  await neighbour.goBack({ waitUntil: 'commit' })
  await neighbour.evaluate('readership.optOut(false)')
  await told(0)
  await tab.evaluate('readership.track("Y")')
  t.same(await told(1), hits({ u: '/', t: 'custom', n: 'Y' }), 'lifted in one it is in all')
  t.same(await tab.evaluate(state), [[], 0, ''])
  t.same(said, [])
})

t.test('the tracker starts once, however often it is started', async (t) => {
  const start = `start({ site: 7 })`
  const { origin, told } = await trackedSite(t, {
    '/': `${TAG}${TAG}${TAG.replace('?site=7', '?site=8')}
      <script type="module">import { start } from '/module/index.js'; ${start}; ${start}</script>`,
    '/module': `<script type="module">
      const before = Object.keys(window)
      const { start, track, identify, optOut } = await import('/module/index.js')
      track('Before')
      window.added = Object.keys(window).filter((name) => !before.includes(name) && name !== 'added')
      ${start}; ${start}
      identify('ann')
      optOut(); track('Never'); optOut(false)
    </script>`,
    '/site': `<script defer src="${SCRIPT}" data-site="7"></script>`,
    '/elsewhere': `<script defer src="${SCRIPT}" data-site="7" data-endpoint="/_readership/api/track?there"></script>`,
    '/none': `<script defer src="${SCRIPT}"></script><script defer src="${SCRIPT}?site=x"></script>
      <iframe srcdoc='${TAG}'></iframe>`,
  })
  const { tab, said } = await newTab()
  await tab.goto(`${origin}/`)
  t.same(await told(1), hits({ u: '/' }))
  await tab.goto(`${origin}/away`)
  await told(2)
  await tab.goto(`${origin}/module`)
  t.same(
    await told(3),
    hits({ u: '/module' }, { u: '/module', t: 'custom', n: 'Before' }, { u: '/module', t: 'engagement', id: 'ann' }),
  )
  t.same(await tab.evaluate('added'), [], 'to import it does nothing')
  for (const path of ['/site', '/elsewhere']) {
    await tab.goto(`${origin}/away`)
    await told(2)
    await tab.goto(`${origin}${path}`)
    t.same(await told(1), hits({ u: path }))
  }
  await tab.goto(`${origin}/away`)
  await told(2)
  await tab.goto(`${origin}/none`)
  t.same(await told(0), [], 'of no site, or where there is no address of the web')
  t.same(said, [])
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

t.test('pages without beacon, fetch or storage, and with a strict policy', async (t) => {
  const own = `<script>
    window.failures = []
    addEventListener('error', ({ message }) => failures.push(message))
    addEventListener('unhandledrejection', ({ reason }) => failures.push(reason))`
  const end = `</script><a href="/x" onclick="event.preventDefault(); this.textContent = 'clicked'">go</a>${TAG}`
  // The code, then how many hits there are of the view, and how many as it is left.
  const worlds: [string, string, number, number, string[]][] = [
    ['/beaconless', 'navigator.sendBeacon = undefined', 1, 2, ['POST text/plain;charset=UTF-8']],
    ['/full', 'navigator.sendBeacon = () => false', 1, 2, ['POST text/plain;charset=UTF-8']],
    ['/nothing', 'navigator.sendBeacon = undefined; window.fetch = undefined', 0, 0, []],
    ['/json', 'JSON.stringify = () => { throw new Error("mine") }', 0, 0, []],
    ['/old', 'Array.prototype.toJSON = () => "[]"; Array.prototype.each = Object.prototype.more = () => {}', 1, 2, []],
    ['/arrays', 'Array.prototype.splice = Array.prototype.forEach = null', 1, 0, []],
    ['/observers', 'delete window.PerformanceObserver', 1, 1, []],
    ['/history', 'Object.freeze(history)', 1, 2, []],
    ['/storage', 'Object.defineProperty(window, "localStorage", { get() { throw new Error("no") } })', 1, 2, []],
    ['/intl', 'window.Intl = undefined', 0, 0, []],
  ]
  const { origin, told, asked } = await trackedSite(t, {
    ...Object.fromEntries(worlds.map(([path, code]) => [path, `${own}\n${code}${end}`])),
    '/csp': {
      body: `${own}${end}`,
      headers: { 'content-security-policy': "connect-src 'none'; script-src 'self' 'unsafe-inline'" },
    },
  })
  const { tab, said } = await newTab()
  for (const [path, , count, leaving, sent] of worlds) {
    asked.length = 0
    await tab.goto(`${origin}${path}`)
    t.same(await told(count), count ? [{ u: path }] : [], path)
    if (sent.length > 0) t.same(asked, sent, path)
    await tab.click('a')
    t.equal(await tab.textContent('a'), 'clicked', path)
    t.same(await tab.evaluate('failures'), [], path)
    t.same(said, [], path)
    await tab.goto(`${origin}/away`)
    t.equal((await told(leaving)).length, leaving, `${path}: each is left once`)
  }
  await tab.goto(`${origin}/csp`)
  t.same(await told(0), [])
  await tab.evaluate('readership.track("X")')
  t.same(await told(0), [], 'its own failure is no error of the page')
  t.same(await tab.evaluate('failures'), [])
  t.same(
    said.filter((one) => !/Content Security Policy|connect-src/.test(one)),
    [],
    'a browser says what its policy forbids, and nothing else is said',
  )
})
