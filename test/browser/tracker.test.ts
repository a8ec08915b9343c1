import t from 'tap'
import { openBrowser } from '../fixtures/browser.js'
import { hits, openTab, painted, SCRIPT, TAG, trackedSite, VITALS, WINDOW } from '../fixtures/tracked.js'

const browser = await openBrowser(t, ['--disable-back-forward-cache'])
const newTab = async () => openTab(await browser.newContext(WINDOW))

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
        // A page's own global of this name is not a method of an element.
        window.matches = 1
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
    ['#out b', {}, [out], 'despite the handlers of the page'],
    ['#out', { modifiers: ['Control'] }, [out], 'into a background tab'],
    ['#out', { button: 'middle' }, [out], 'the middle button'],
    ['#out', { button: 'right' }, [], 'the right button opens a menu'],
    ['#same', {}, [], 'the same host'],
    ['#mail', {}, [], 'not an http address'],
    ['#none', {}, [], 'a link without an address'],
    ['#script', {}, [], 'a script'],
    ['#pdf', {}, [{ u: '/', t: 'file_download', p: { url: '/a/Paper.PDF?v=2' } }], 'a file by its extension'],
    ['#far', {}, [{ u: '/', t: 'file_download', p: { url: `${site.other}/data.csv` } }], 'a file on another site'],
    ['#named-file', {}, [{ u: '/', t: 'file_download', p: { url: '/report' } }], 'a file by the download attribute'],
    ['#html', {}, [], 'an HTML page'],
    [
      '#offer',
      {},
      [
        { u: '/', t: 'custom', n: 'Offer', p: {} },
        { u: '/', t: 'outbound', p: { url: `${site.other}/offer` } },
      ],
      'a declared event and an outbound link',
    ],
    ['#host a', {}, [{ u: '/', t: 'outbound', p: { url: `${site.other}/in` } }], 'in a shadow tree'],
    [
      '#buy i',
      {},
      [{ u: '/', t: 'custom', n: 'Buy', p: { plan: 'pro', 'price-eur': '9.50' } }],
      'the nearest declared event, with its properties',
    ],
    ['#outer', {}, [{ u: '/', t: 'custom', n: 'Outer', p: {} }], 'the event declared on a parent'],
    ['#outer', { button: 'middle' }, [], 'the middle button does nothing on a button'],
    [
      '#signup button',
      {},
      [{ u: '/', t: 'form', p: { form: 'signup' } }],
      'a form by its id, even with fields called id and name',
    ],
    ['[name=search] button', {}, [{ u: '/', t: 'form', p: { form: 'search' } }], 'a form by its name'],
    [
      '[data-readership-kind] button',
      {},
      [
        { u: '/', t: 'form', p: { form: '/deep/er' } },
        { u: '/', t: 'custom', n: 'Asked', p: { kind: 'short' } },
      ],
      'a form by the path of its action; its event is sent when it is submitted',
    ],
    ['form:last-of-type button', {}, [{ u: '/', t: 'form', p: { form: '/' } }], 'a form without an action'],
  ]
  for (const [selector, how, expected, why] of clicks) {
    await tab.click(selector, how)
    t.same(await told(expected.length), hits(...expected), `${selector} ${JSON.stringify(how)}: ${why}`)
  }
  t.equal(
    await tab.evaluate('seen.filter(([, prevented]) => prevented).length'),
    0,
    'the tracker prevents no default action',
  )
  t.equal(await tab.evaluate('seen.length'), 23, 'every event reaches the page')
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
      'an error with its first frame',
    ],
    ['throw "just text"', [{ type: 'Error', message: 'Uncaught just text' }], 'a thrown text has no stack'],
    [
      'Promise.reject(Object.assign(new Error("late"), { stack: "" }))',
      [{ type: 'Error', message: 'late' }],
      'a rejected promise',
    ],
    ['Promise.reject(undefined)', [{ type: 'Error', message: 'undefined' }], 'rejected without a reason'],
    ['throw { get name() { throw 1 } }', [], 'an unreadable error is skipped'],
    [
      `throw Object.assign(new RangeError("x".repeat(700)), { stack: "a\\nfoo@http://h/b.js:1:2\\nbar@http://h/c.js:3:4" })`,
      [{ type: 'RangeError', message: 'x'.repeat(500), frame: 'foo@http://h/b.js:1:2' }],
      'a long message is cut; the first frame as other browsers write it',
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
    ["readership.identify(42, { plan: 'free' })", [], 'the same identity again'],
    ["readership.identify('42', { plan: 'pro' })", [{ ...ann, t: 'engagement', p: { plan: 'pro' } }], 'other traits'],
    ["readership.track('Late')", [{ ...ann, t: 'custom', n: 'Late' }], 'no properties'],
    [
      "readership.push((r) => r.track('Pushed'))",
      [{ ...ann, t: 'custom', n: 'Pushed' }],
      'a push after the script has loaded',
    ],
    ['const loop = {}; loop.loop = loop; readership.track("Loop", loop)', [], 'properties with a cycle'],
    ['readership.track("Big", 1n)', [], 'properties that are not an object'],
    ['readership.push(); readership.identify({ toString: 1 })', [], 'neither a function nor an id'],
    ['readership.identify(null); readership.track("Out")', [{ u: '/', t: 'custom', n: 'Out' }], 'no identity again'],
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
  t.same(await tab.evaluate(state), out, 'the cookie tells the server, which records views too')
  await context.clearCookies()
  for (const { evaluate } of [tab, neighbour].map((one) => ({ evaluate: one.evaluate.bind(one) })))
    await evaluate('readership.track("X"); readership.identify(1)')
  await tab.goto(`${origin}/`)
  await neighbour.goto(`${origin}/away`)
  t.same(await told(0), [], 'no hit from any tab, even after a reload')
  t.same(await tab.evaluate(state), out, 'the cookie is written again')
  await neighbour.goBack({ waitUntil: 'commit' })
  await neighbour.evaluate('readership.optOut(false)')
  await told(0)
  // Chromium tells other tabs of a change a moment later.
  await tab.waitForFunction('localStorage.length === 0')
  await tab.evaluate('readership.track("Y")')
  t.same(await told(1), hits({ u: '/', t: 'custom', n: 'Y' }), 'lifting it in one tab lifts it in all')
  t.same(await tab.evaluate(state), [[], 0, ''])
  t.same(said, [])
})

t.test('an opt-out that cannot be stored lasts as long as the document', async (t) => {
  const page = (storage: string) =>
    `<script>Object.defineProperty(window, 'localStorage', { get() { ${storage} } })</script>${TAG}`
  const { origin, told } = await trackedSite(t, {
    '/refused': page('throw new Error("no")'),
    '/missing': page('return null'),
    '/full': page('return new Proxy({}, { set() { throw new Error("full") } })'),
  })
  for (const path of ['/refused', '/missing', '/full']) {
    const { tab, said } = await newTab()
    await tab.goto(`${origin}${path}`)
    t.same(await told(1), hits({ u: path }), path)
    await tab.evaluate('readership.optOut(); readership.track("X")')
    t.same(await told(0), [], `${path}: opted out`)
    await tab.evaluate('readership.optOut(false); readership.track("Y")')
    // Full storage rejects a new flag, so that the choice was kept by the document alone.
    t.same(await told(1), hits({ u: path, t: 'custom', n: 'Y' }), `${path}: lifted`)
    t.same(said, [])
  }
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
  t.same(await tab.evaluate('added'), [], 'importing the module adds no global')
  for (const path of ['/site', '/elsewhere']) {
    await tab.goto(`${origin}/away`)
    await told(2)
    await tab.goto(`${origin}${path}`)
    t.same(await told(1), hits({ u: path }))
  }
  await tab.goto(`${origin}/away`)
  await told(2)
  await tab.goto(`${origin}/none`)
  t.same(await told(0), [], 'no hit without a site or an http address')
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
    t.equal((await told(leaving)).length, leaving, `${path}: hits when the page is left`)
  }
  await tab.goto(`${origin}/csp`)
  t.same(await told(0), [])
  await tab.evaluate('readership.track("X")')
  t.same(await told(0), [], 'a failure of the tracker is not reported as an error of the page')
  t.same(await tab.evaluate('failures'), [])
  t.same(
    said.filter((one) => !/Content Security Policy|connect-src/.test(one)),
    [],
    'the console shows only what the policy forbids',
  )
})
