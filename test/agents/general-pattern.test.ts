import { list } from 'isbot'
import t from 'tap'
import { findBotSign, HARMLESS_PATTERNS, WORDS_OF_WORK } from '../../src/agents/general-pattern.js'

const android = (tail: string, device = 'SM-S918B Build/UP1A.231005.007; wv') =>
  `Mozilla/5.0 (Linux; Android 14; ${device}) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/126.0.6478.188 Mobile Safari/537.36${tail}`
const iphone = (tail: string) =>
  `Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)${tail}`
const desktop = (tail: string) =>
  `Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36${tail}`
const television = (tail: string) =>
  `Mozilla/5.0 (X11; Linux armv7l) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/88.0.4324.152 Safari/537.36${tail}`
const explorer = (tail: string) => `Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; Trident/4.0; ${tail}`

t.test('browsers of people pass, whatever words their devices and apps add', async (t) => {
  const rows: [string, string][] = [
    [android(' MicroMessenger/8.0.49.2600(0x28003145) WeChat/arm64 NetType/WIFI Process/tools'), 'WeChat'],
    [iphone(' Mobile/21F90 AlipayDefined(nt:WIFI,ws:390|780|3.0) AliApp(AP/10.5.96) AlipayClient/10.5.96'), 'Alipay'],
    [android(' AliApp(TB/10.30.20) TTID/10005934@taobao_android_10.30.20 WindVane/8.5.0'), 'Taobao'],
    [android(' AliApp(LA/7.30.0) TTID/600000@lazada_android_7.30.0 WindVane/8.5.0'), 'Lazada'],
    [iphone(' GoogleLens/1.0 Mobile/15E148 Safari/604.1'), 'Google Lens'],
    [iphone(' Google/324.0 Mobile/15E148 Safari/604.1'), 'the Google app'],
    [android(' TopBuzzNews/5.2'), 'an app with "News" in its name'],
    [iphone(' AppleNews/607 Version/2.0'), 'Apple News'],
    [android(' WeatherRadar/2.1 InsightTimer/9'), 'apps with words that bots use too'],
    [android('', 'Spider X4 Build/TP1A'), 'a telephone called Spider'],
    [android('', 'Discovery R4 Build/TP1A'), 'a telephone called Discovery'],
    [android('', 'M bot 60 Build/NRD90M'), 'a telephone called M bot'],
    [android('', 'moto g power (2022)'), 'a model with brackets'],
    [
      'Mozilla/5.0 (Linux; Android 12; Google TV Streamer Build/UTTC.240812.003; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/125.0.6422.165 Safari/537.36',
      'Google TV',
    ],
    [
      'Mozilla/5.0 (Linux; GoogleTV 3.2; VAP430 Build/MASTER) AppleWebKit/534.24 (KHTML, like Gecko) Chrome/11.0.696.77 Safari/534.24',
      'the first Google TV',
    ],
    [television(' HbbTV/1.6.1 (+DRM; Hisense; 55A6H;) VIDAA/6.0(Hisense;SmartTV;55A6H;UHD; HE55A6H;)'), 'VIDAA'],
    [
      'Opera/9.80 (Linux mips; U; HbbTV/1.1.1 (; Humax; iCord HD+; 1.0.0; 1.0.0; ); ce-html/1.0; en) Presto/2.10.250 Version/11.60',
      'a television of 2012',
    ],
    [explorer('chromeframe/31.0.1650.57; .NET CLR 2.0.50727)'), 'Internet Explorer with chromeframe'],
    [explorer('GWX:DOWNLOADED; chromeframe/32.0'), 'a comment that the 512 characters cut off'],
    [
      explorer('Embedded Web Browser from: http://bsalsa.com/; .NET CLR 2.0.50727)'),
      'an add-on that signs with an address',
    ],
    [desktop(' ()'), 'an empty comment'],
  ]
  for (const [userAgent, why] of rows) t.equal(findBotSign(userAgent), undefined, `${why}: ${userAgent}`)
})

t.test('bots in the form of a browser are found by what they declare', async (t) => {
  const rows: [string, string][] = [
    [android(' FooBot/1.0'), 'Bot'],
    [android(' (compatible; FooSpider/1.0)', 'Spider X4 Build/TP1A'), 'Spider'],
    [desktop(' LinkCheck/2.0'), 'LinkCheck'],
    [desktop(' Dotcom-Monitor'), 'Monitor'],
    [desktop(' (someone@example.org)'), 'e@example.org'],
    [desktop(' https://foo.example/about'), 'https://'],
    [desktop(' GotSite.com'), 'GotSite.com'],
    [desktop(' Google Favicon'), 'Google Favicon'],
    [explorer('Analyzer; +http://www.example.com)'), '+http:'],
    [
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko; Google Page Speed Insights) Chrome/41.0 Safari/537.36',
      'like Gecko; G',
    ],
    [
      'Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Foo-User/1.0) Chrome/130.0.0.0 Safari/537.36',
      'like Gecko; compatible; F',
    ],
    ['Mozilla/5.0 (X11; U; Linux i686; en-US; rv:1.9.1.3; ips-agent) Gecko/20090824 Firefox/3.5.3', '-agent'],
  ]
  for (const [userAgent, sign] of rows) t.equal(findBotSign(userAgent), sign, userAgent)
})

t.test('every exception still names a pattern of isbot', async (t) => {
  const known = new Set(list)
  for (const pattern of [...HARMLESS_PATTERNS.map(([one]) => one), ...WORDS_OF_WORK])
    t.ok(known.has(pattern), `${pattern} is in isbot’s list`)
})

t.test('a hostile user agent costs no more than another', async (t) => {
  const hostile = [
    `Mozilla/5.0 (${'('.repeat(500)} spider`,
    `Mozilla/5.0 (${'(a)'.repeat(160)}; spider`,
    `Opera/9 (${'a'.repeat(240)}) ${'Presto'.repeat(30)} | spider`,
    `Mozilla/5.0 (X11; Linux) like Gecko)${' (compatible'.repeat(40)} spider`,
    `Mozilla/4.0 (compatible; MSIE 8${'(x'.repeat(230)} http`,
  ].map((text) => text.slice(0, 512))
  for (const userAgent of hostile) {
    // The least, because other programs take their share of the rest.
    let least = Number.POSITIVE_INFINITY
    for (let i = 0; i < 20; i++) {
      const began = performance.now()
      findBotSign(userAgent)
      least = Math.min(least, performance.now() - began)
    }
    t.ok(least < 2, `${least.toFixed(3)} ms: ${userAgent.slice(0, 40)}`)
  }
})
