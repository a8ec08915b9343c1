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

t.test('programs that no browser is, and names of work in a complete browser', async (t) => {
  const gecko = (tail: string) => `Mozilla/5.0 (X11; Linux x86_64; rv:52.0) Gecko/20100101 Firefox/52.0${tail}`
  const rows: [userAgent: string, sign: string, why: string][] = [
    [
      'Elastic-Heartbeat/8.15.0 (linux; amd64; 1234; 2024-08-01 00:00:00 +0000 UTC)',
      'Elastic-Heartbeat/8.15.0',
      'a monitor',
    ],
    [
      'Elastic-Metricbeat/8.15.0 (linux; amd64; 1234; 2024-08-01 00:00:00 +0000 UTC)',
      'Elastic-Metricbeat/8.15.0',
      'another',
    ],
    [
      'Mozilla/5.0 (Windows) mirall/3.17.1 (build 20250818) (Nextcloud, windows-10.0.26100 ClientArchitecture: x86_64 OsArchitecture: x86_64)',
      'mirall/3.17.1',
      'Nextcloud’s sync client',
    ],
    ['davfs2/1.5.4 neon/0.30.2', 'davfs2/1.5.4', 'a file system over WebDAV'],
    ['Mikrotik/6.x Fetch', 'Mikrotik/6.x', 'a router’s tool'],
    ['Artifactory/7.21.12 72112900', 'Artifactory/7.21.12', 'a store of packages'],
    ['cri-o/1.29.1 go/go1.21 os/linux arch/amd64', 'cri-o/1.29.1', 'a store of containers'],
    ['PayPal/AUHR-214.0-55417489', 'PayPal/AUHR-214.0-55417489', 'a notification of payments'],
    ['Cloudtrellis/X.X', 'Cloudtrellis/X.X', 'a version without digits'],
    ['Mozilla/5.0 (Laravel Reaver .env Presence)', 'Laravel', 'a scanner'],
    ['Mozilla/5.0 (Macintosh; Intel Mac OS X) Word/14.64.0', 'Word/14.64.0', 'Word checks a link'],
    ['Mozilla/4.0 (compatible; grub-client-2.6.1)', 'grub-client-2.6.1', 'compatible with nothing'],
    [explorer('SLCC2) NewsNow/1.0'), 'NewsNow/1.0', 'a product after Internet Explorer'],
    [desktop(' AlliAI/1.0'), 'AlliAI', 'a name that ends in AI'],
    [desktop(' FastDAST'), 'FastDAST', 'a name that ends in a kind of scan'],
    [desktop(' FastmailUA/1.0'), 'FastmailUA', 'a name that ends in UA'],
    [gecko(' AlertSite/3.0'), 'AlertSite', 'a word of work'],
    [explorer('GomezAgent 3.0)'), 'GomezAgent', 'an agent in the platform’s comment'],
    [explorer('www.alertra.com)'), '; www.alertra.com)', 'a host at the end of the comment'],
    [desktop(' (StatusService)'), 'Safari/537.36 (StatusService)', 'a comment of one name at the end'],
    [
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.21 (KHTML, like Gecko) wpif Safari/537.21',
      'like Gecko) wpif Safari/',
      'a name without a version',
    ],
    [iphone(' Mobile/15E148 MicroMessenger/7.0.12 wechatdevtools'), 'devtools', 'a simulator of developers'],
  ]
  for (const [userAgent, sign, why] of rows) t.equal(findBotSign(userAgent), sign, `${why}: ${userAgent}`)
})

t.test('devices and browsers that look like nothing else', async (t) => {
  const rows: [userAgent: string, why: string][] = [
    ['SAMSUNG-GT-S5620/1.0 SHP/VPP/R5 Dolfin/1.5 profile/MIDP-2.1 configuration/CLDC-1.1', 'a telephone'],
    ['UCWEB/2.0 (MIDP-2.0; U; Adr 4.4.2; en-US; GT-S7582) U2/1.0.0 UCBrowser/9.5.0', 'UC Browser'],
    ['HbbTV/1.1.1 (;Panasonic;VIERA 2012;1.261;0071-3103 2000-0000;)', 'a television'],
    ['Roku/DVP-9.10 (519.10E04111A)', 'a stick'],
    ['Mozilla/5.0 (PLAYSTATION 3; 1.10)', 'a console'],
    ['Mozilla/5.0 (Nintendo 3DS; U; ; en) Version/1.7412.EU', 'another'],
    ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10_7_3)', 'a description that is cut off'],
    ['Mozilla/4.79 [en] (Windows NT 5.0; U)', 'Netscape'],
    ['Lynx/2.9.0dev.4 libwww-FM/2.14 SSL-MM/1.4.1 GNUTLS/2.12.23', 'Lynx'],
    ['AppleCoreMedia/1.0.0.12B466 (Apple TV; U; CPU OS 8_1_3 like Mac OS X; en_us)', 'a player'],
    [desktop(' Herring/97.1.8280.81'), 'a browser with a name of its own'],
    [desktop(' CCleaner/126.0.0.0'), 'another'],
    [desktop(' SE 2.X MetaSr 1.0'), 'Sogou’s browser'],
    ['Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.21 (KHTML, like Gecko) rekonq Safari/537.21', 'rekonq'],
    ['Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1; en) Opera 8.50', 'Opera as Internet Explorer'],
    [explorer('SE 2.X MetaSr 1.0)'), 'Sogou’s browser with the engine of Internet Explorer'],
    ['Mozilla/5.0 (masking-agent; rv:40.0) Gecko/20100101 Firefox/40.0', 'a browser that hides its system'],
  ]
  for (const [userAgent, why] of rows) t.equal(findBotSign(userAgent), undefined, `${why}: ${userAgent}`)
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
    `Mozilla/4.0 (compatible; MSIE 8${' Windows NT'.repeat(50)}`,
    `Mozilla/5.0 (X11) AppleWebKit/5 ${'Ab'.repeat(240)}`,
    `Safari/1.1 (${'A '.repeat(250)}`,
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
