import t from 'tap'
import { createDeviceReader } from '../../src/capture/device.js'
import { deviceTypeOf } from '../../src/capture/device-type.js'
import { BROWSERS } from '../fixtures/user-agents.js'

const CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'

t.test('reads browser, system and type from user agent and client hints', async (t) => {
  const read = createDeviceReader()
  const of = (userAgent: string, headers: Record<string, string> = {}) => {
    const { browser, browser_version, os, os_version, device_type } = read(userAgent, headers)
    return [browser, browser_version, os, os_version, device_type]
  }
  for (const [userAgent, expected] of BROWSERS) t.strictSame(of(userAgent), expected, userAgent)
  const linux = CHROME.replace('Windows NT 10.0; Win64; x64', 'X11; Linux x86_64')
  const android = CHROME.replace('Windows NT 10.0; Win64; x64', 'Linux; Android 10; K').replace(
    'Safari',
    'Mobile Safari',
  )
  const hint = (platform: string, more: Record<string, string> = {}) => ({
    'sec-ch-ua-platform': `"${platform}"`,
    ...more,
  })
  const rows: [string, Record<string, string>, (string | null)[], string][] = [
    [CHROME, hint('Windows'), ['Chrome', '142', 'Windows', '10', 'desktop'], 'a hint that adds nothing'],
    [
      CHROME,
      hint('Windows', { 'sec-ch-ua-platform-version': '"15.0.0"' }),
      ['Chrome', '142', 'Windows', '11', 'desktop'],
      'Windows 11 counts from 13',
    ],
    [
      CHROME,
      hint('Windows', { 'sec-ch-ua-platform-version': '"10.0.0"' }),
      ['Chrome', '142', 'Windows', '10', 'desktop'],
      'below 13 is Windows 10',
    ],
    [
      android,
      hint('Android', { 'sec-ch-ua-platform-version': '"16.0.0"', 'sec-ch-ua-mobile': '?1' }),
      ['Chrome', '142', 'Android', '16', 'mobile'],
      'the real Android version',
    ],
    [linux, hint('Android'), ['Chrome', '142', 'Android', null, 'mobile'], 'a phone that asks for the desktop site'],
    [
      CHROME,
      { 'sec-ch-ua': '"Brave";v="142", "Chromium";v="142", "Not.A/Brand";v="24"' },
      ['Brave', '142', 'Windows', '10', 'desktop'],
      'a browser that calls itself Chrome',
    ],
    [
      CHROME,
      { 'sec-ch-ua': '"Opera GX";v="124"', 'sec-ch-ua-full-version-list': '"Opera GX";v="124.0.5.1"' },
      ['Opera GX', '124', 'Windows', '10', 'desktop'],
      'the full list first',
    ],
    [
      CHROME,
      { 'sec-ch-ua': '"__proto__";v="1"' },
      ['Chrome', '142', 'Windows', '10', 'desktop'],
      'a brand named like a property of every object',
    ],
    [CHROME, hint('Unknown'), ['Chrome', '142', 'Windows', '10', 'desktop'], 'says nothing of use'],
    [CHROME, hint('x'.repeat(9000)), ['Chrome', '142', 'x'.repeat(255), null, 'desktop'], 'a name that is too long'],
    ['Mozilla/5.0', {}, [null, null, null, null, null], 'says nothing of use'],
  ]
  for (const [userAgent, headers, expected, why] of rows) t.strictSame(of(userAgent, headers), expected, why)
})

t.test('a flood of hostile user agents costs a share of the time, not all of it', async (t) => {
  let ahead = 0
  // A clock on which each parse takes a thousand times as long: the flood does nothing but parse.
  const read = createDeviceReader({ clock: () => performance.now() * 1000 + ahead })
  let unread = 0
  for (let i = 0; i < 1000; i++) if (read(`${CHROME} ${i}`, {}).browser === null) unread++
  t.ok(unread > 100, `${unread} of 1000 left unread`)
  t.equal(read(`${CHROME} 0`, {}).browser, 'Chrome', 'cached devices are returned as before')
  // Longer than it takes to make up for the slowest first parse on a busy machine.
  ahead = 1e9
  t.equal(read(`${CHROME} new`, {}).browser, 'Chrome', 'and later new ones are read again')
})

t.test('no user agent costs the signs of devices much more than an ordinary one of its length', async (t) => {
  const fastest = (userAgent: string): number => {
    const times = Array.from({ length: 5 }, () => {
      const start = performance.now()
      for (let i = 0; i < 10; i++) deviceTypeOf(userAgent, null)
      return performance.now() - start
    })
    return Math.min(...times)
  }
  const ordinary = CHROME.repeat(5).slice(0, 512)
  const rows: [string, string][] = [
    ['Android 1;a'.repeat(46), 'many beginnings of a model'],
    [`${'Android 1;'.repeat(20)}${'a'.repeat(310)}`, 'a long model without an end'],
    ['Tizen '.repeat(85), 'a system named often'],
  ]
  fastest(ordinary)
  for (const [userAgent, why] of rows) t.ok(fastest(userAgent) < 30 * fastest(ordinary), why)
})

t.test('iPads that ask for the desktop site are tablets with iOS', async (t) => {
  const read = createDeviceReader()
  const mac = (tail: string) =>
    `Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) ${tail}`
  const rows: [tail: string, browser: string | null, why: string][] = [
    ['CriOS/131.0.6778.73 Version/17.0 Safari/605.1.15', 'Chrome', 'Chrome'],
    ['FxiOS/133.0 Safari/605.1.15', 'Firefox', 'Firefox'],
    ['EdgiOS/131.0.2903.68 Version/17.0 Safari/605.1.15', 'Edge', 'Edge'],
    ['GSA/102.0.304944559 Safari/604.1', 'Google App', 'the Google app'],
    ['OPT/2.2.1', 'Opera', 'Opera Touch'],
    ['Version/17.0 OPX/2.8.0 Safari/605.1.15', 'Opera GX', 'Opera GX'],
    ['Mobile/15E148 DuckDuckGo/7', 'DuckDuckGo', 'DuckDuckGo'],
    ['Mobile/15E148', 'WebKit', 'an app’s view'],
  ]
  for (const [tail, browser, why] of rows) {
    const device = read(mac(tail), undefined)
    t.strictSame(
      [device.browser, device.os, device.os_version, device.device_type],
      [browser, 'iOS', null, 'tablet'],
      why,
    )
  }
  for (const tail of [
    'Version/17.4 Safari/605.1.15',
    'Version/17.5 Safari/605.1.15 Ddg/17.5',
    'Chrome/131.0.0.0 Safari/537.36',
  ]) {
    const device = read(mac(tail), undefined)
    t.strictSame([device.os, device.device_type], ['macOS', 'desktop'], `a Mac: ${tail}`)
  }
})

t.test('types of devices that the parser takes for others', async (t) => {
  const read = createDeviceReader()
  const android = (model: string, mobile = '') =>
    `Mozilla/5.0 (Linux; Android 11; ${model}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/110.0.0.0 ${mobile}Safari/537.36`
  const linux = (tail: string) =>
    `Mozilla/5.0 (X11; Linux armv7l) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/98.0.4758.102 Safari/537.36 ${tail}`
  const rows: [userAgent: string, os: string | null, type: string, why: string][] = [
    [android('K'), 'Android', 'tablet', 'the reduced user agent of Chrome on a tablet'],
    [android('K', 'Mobile '), 'Android', 'mobile', 'and on a telephone'],
    [android('HP Slate 8 Pro Build/JDQ39'), 'Android', 'tablet', 'a tablet without "Mobile"'],
    [android('TrekStor SurfTab xiron 10.1 3G', 'Mobile '), 'Android', 'tablet', 'a tablet that says "Mobile"'],
    [android('SM-T510', 'Mobile '), 'Android', 'tablet', 'a series of tablets'],
    [android('GT-N7000', 'Mobile '), 'Android', 'mobile', 'a telephone that the parser takes for a tablet'],
    [android('PadFone 2', 'Mobile '), 'Android', 'mobile', 'a telephone with a tablet’s word'],
    [android('Vodafone Smart 4G', 'Mobile '), 'Android', 'mobile', 'a telephone of a carrier'],
    [android('Retroid Pocket 3'), 'Android', 'console', 'a handheld console'],
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64; XBOX_ONE_ED) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/51.0.2704.79 Safari/537.36 Edge/14.14393',
      'Xbox',
      'console',
      'Xbox',
    ],
    ['Mozilla/5.0 (Nintendo 3DS; U; ; en) Version/1.7498.EU', 'Nintendo', 'console', 'Nintendo'],
    [linux('Tesla/feature-2022.20.8-109-8f941dcd0b'), 'Linux', 'embedded', 'a car'],
    [
      'Mozilla/5.0 (X11; GNU/Linux) AppleWebKit/601.1 (KHTML, like Gecko) Tesla QtCarBrowser Safari/601.1',
      'Linux',
      'embedded',
      'an older car',
    ],
    [android('QUAD-CORE T3 p1'), 'Android', 'embedded', 'a head unit that names its chip'],
    [android('Polestar Build/QA1A.210116.001', 'Mobile '), 'Android', 'embedded', 'a car with Android'],
    [
      android('SW-LED65UG402 Build/PPR2.180905.006.A1; wv', 'Mobile '),
      'Android',
      'tv',
      'a television that says "Mobile"',
    ],
    [android('ONVO_50OV6000U Build/TP1A.220905.004.A2; wv'), 'Android', 'tv', 'a size after the maker'],
    [android('FibeTV Build/RTT4.240509.001', 'Mobile '), 'Android', 'tv', 'a box that ends in TV'],
    [android('H96 mini H8'), 'Android', 'tv', 'a set-top box'],
    [android('KORAX-Eurobox'), 'Android', 'tv', 'another'],
    [android('youwei box', 'Mobile '), 'Android', 'tv', 'a box of no series'],
    [
      android('TB320FC').replace('Safari', 'YaSearchBrowser/23.99/apad Mobile Safari'),
      'Android',
      'tablet',
      'an app that names the kind of device',
    ],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 11_3 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E302 Instagram 46.0.0.14.96 (iPad6,11; iOS 11_3_1; en_150; en-150; scale=2.00; gamut=normal; 960x640)',
      'iOS',
      'tablet',
      'an iPad that shows a telephone’s app',
    ],
    [`${android('K')} TV Bro/2.0.1`, 'Android', 'tv', 'a browser for televisions'],
    [linux('VIDAA/6.0(Hisense;SmartTV;55A6H;MTK9602;UHD;55A6H;)'), 'VIDAA', 'tv', 'VIDAA'],
    [linux('OPR/46.0 OMI/4.20 TiVoOS/1.0'), 'TiVo OS', 'tv', 'TiVo'],
    [
      'UCWEB/2.0 (MIDP-2.0; U; Adr 4.2.2; en-US; Karbonn_A91) U2/1.0.0 UCBrowser/9.1.1.420',
      null,
      'mobile',
      'UC Browser',
    ],
    ['KDDI-TS3W UP.Browser/6.2_7.2.7.1.K.6.1.102 (GUI) MMP/2.0', null, 'mobile', 'a telephone without a system'],
  ]
  for (const [userAgent, os, type, why] of rows) {
    const device = read(userAgent, undefined)
    t.strictSame([device.os, device.device_type], [os, type], `${why}: ${userAgent}`)
  }
  t.equal(
    read(android('X1', 'Mobile '), { 'sec-ch-ua-platform': '"Android"', 'sec-ch-ua-mobile': '?0' }).device_type,
    'tablet',
    'a hint says what the user agent does not',
  )
})

t.test('televisions are tv, and each system has one name', async (t) => {
  const read = createDeviceReader()
  const rows: [string, string | null, string, string][] = [
    [
      'Mozilla/5.0 (Web0S; Linux/SmartTV) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/87.0.4280.88 Safari/537.36 HbbTV/1.5.1 (+DRM; LGE; 55NANO756PR; WEBOS22 03.21.30; W22_K7LP; DTV_W22O)',
      'webOS',
      'tv',
      'LG with HbbTV',
    ],
    [
      'Mozilla/5.0 (Linux; Android 10) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/88.0.4324.152 Safari/537.36 VIDAA/6.0(Hisense;SmartTV;55A6H;MTK9602;UHD;55A6H;)',
      'Android',
      'tv',
      'VIDAA',
    ],
    [
      'Mozilla/5.0 (Linux; Android 9; AFTMM Build/PS7624) AppleWebKit/537.36 (KHTML, like Gecko) Silk/112.5 like Chrome/112.0 Safari/537.36',
      'Android',
      'tv',
      'Fire TV',
    ],
    ['Roku/DVP-9.10 (519.10E04111A)', null, 'tv', 'Roku'],
    [
      'Mozilla/5.0 (Linux; Android 9; BRAVIA 4K GB ATV3 Build/PTT1) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36',
      'Android',
      'tv',
      'Android TV',
    ],
    [
      'Mozilla/5.0 (SMART-TV; LINUX; Tizen 7.0) AppleWebKit/537.36 (KHTML, like Gecko) 94.0.4606.31/7.0 TV Safari/537.36',
      'Tizen',
      'tv',
      'Samsung',
    ],
    [
      'Mozilla/5.0 (Linux; Android 11; 43LF7202T Build/RP1A.200720.011; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/83.0.4103.120 Safari/537.36',
      'Android',
      'tv',
      'a model that begins with its size in inches',
    ],
    [
      'Opera/9.80 (Linux mips; U; HbbTV/1.1.1 (; Sony; KDL32CX525; PKG4.008EUA; 2011;);; en) Presto/2.7.61 Version/11.00',
      'Linux',
      'tv',
      'HbbTV in Opera',
    ],
    [
      'Opera/9.80 (Linux armv6l; U; NETRANGEMMH;HbbTV/1.1.1;CE-HTML/1.0;TCL LF1V349; en) Presto/2.8.115 Version/11.10',
      null,
      'tv',
      'a portal is not a system',
    ],
    [
      'Mozilla/5.0 (PlayStation 4 11.00) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.0 Safari/605.1.15',
      'PlayStation',
      'console',
      'a console is not a television',
    ],
    [
      'Mozilla/5.0 (PLAYSTATION 3 4.90) AppleWebKit/531.22.8 (KHTML, like Gecko)',
      'PlayStation',
      'console',
      'in other letters',
    ],
    ['Mozilla/5.0 (Mobile; rv:48.0; KAIOS) Gecko/48.0 Firefox/48.0 KAIOS/2.5', 'KaiOS', 'mobile', 'in other letters'],
    [
      'Mozilla/5.0 (compatible; MSIE 9.0; Windows Phone OS 7.5; Trident/5.0; IEMobile/9.0; NOKIA; Lumia 800)',
      'Windows Phone',
      'mobile',
      'without "OS"',
    ],
    [
      'Mozilla/5.0 (Linux; U; Android 4.2.2; km-kh; i-mobile i-STYLE 7.8 DTV Build/i_style) AppleWebKit/534.30 (KHTML, like Gecko) Version/4.0 Mobile Safari/534.30',
      'Android',
      'mobile',
      'a telephone that receives television',
    ],
  ]
  for (const [userAgent, os, device_type, why] of rows) {
    const device = read(userAgent, undefined)
    t.strictSame([device.os, device.device_type], [os, device_type], `${why}: ${userAgent}`)
  }
  t.equal(read(CHROME, { 'sec-ch-ua-platform': '"Chrome OS"' }).os, 'ChromeOS', 'names of client hints too')
})
