import { list } from 'isbot'

/*
 * Decides when the general pattern of `isbot` may overrule a user agent that has the complete form of a browser.
 *
 * The pattern looks for words and signs anywhere in the text: `tools`, `news`, `spider`, `|`, `http`. People's browsers
 * carry such words too: in the name of the telephone, of the app that shows the page, or of an add-on. A bot that takes
 * the form of a browser says so in a few places. So in a complete browser the pattern counts only if
 *   1. the text names a bot, a crawler, a spider or a product of isbot's list, outside the name of the telephone, or
 *   2. it gives an address to ask at (a URL, a host, an e-mail address), or
 *   3. it adds a name inside `(KHTML, like Gecko; …)` or `(compatible; …)`, as crawlers do, or
 *   4. on a desktop, a word of work (`scan`, `monitor`, `check`) follows the engine.
 * Overrides `isbot`: a text without any word of a browser, telephone, television or player is a program's, and so is a
 * complete browser with a name of work appended (`AlliAI/1.0`, `GomezAgent 3.0`).
 * `npm run bench -- truth` measures these rules on the lists of npm.
 */

/**
 * Matches the words of which the user agents of people's devices have at least one: an engine, a browser that has none in
 * its name, a system of telephones, a television, a console or a player. `AppleWebKit` is looked for before, since most have it.
 */
const CLIENT_WORD = new RegExp(
  [
    'Gecko|KHTML|WebKit|MSIE|Trident|Presto|Opera|Firefox|Konqueror|Browser(?!shot)|Navigator|Mosaic|NetFront|Obigo|Teleca',
    'Openwave|UP\\.Link|Polaris|UCWEB|Dillo|NetSurf|Lynx|Links[/ ]|w3m/|Chrome/|Safari/|Sleipnir|Maxthon|NetPositive|Xiino|HotJava',
    'MIDP|CLDC|\\bWAP|MAUI|DoCoMo|J-PHONE|KDDI|SoftBank|Vodafone|portalmmm|Symbian|Series ?[4-9]0|BlackBerry|Palm',
    'SonyEricsson|Nokia|Samsung|\\bsam-|iPhone|iPad|Android|Dalvik|Windows (?:Phone|CE|Mobile)|CFNetwork|Amiga|RISC OS|BeOS',
    'HbbTV|CE-HTML|Hybridcast|DLNADOC|Smart-?TV|Apple ?TV|Roku/|KreaTV|XBMC|Kodi|PlayStation|Nintendo|Xbox',
    'QuickTime|iTunes|CoreMedia|Player\\b|LibVLC|stagefright|Lavf/|\\biOS[ /]\\d|ms-?office|Microsoft O',
    // A browser whose description is cut off after its system, and the comment of Netscape: `Mozilla/4.7 [en] (Win98; I)`.
    '^Mozilla/5\\.0 \\((?:Windows|Macintosh|X11|Linux)[^()]*\\)?$|^Mozilla/[1-4]\\.\\d+\\w* (?:\\[|\\((?!compatible))',
  ].join('|'),
  'i',
)

/** Matches browsers that `isbot` takes for bots by their form: text browsers, small browsers and old telephones. */
const PLAIN_BROWSER =
  /^(?!.*(?:bot|crawl|spider|agent))(?:(?:w3m|NetSurf|nook browser|Avant Browser|SonyEricsson\w*|BlackBerry\w*)\/|Mozilla\/[\d.]+ \(compatible; (?:Dillo|Konqueror)[ /]|.*\bFirePHP\/)/i

/**
 * Matches the forms in which browsers write: WebKit and Blink, Gecko, Internet Explorer, and Opera before 2013. The groups are
 * the platform's comment and what follows it.
 */
const COMPLETE_BROWSER =
  /^(?:Mozilla\/[45]\.0|Opera\/\d[\d.]*) \(((?:[^()]|\([^()]*\))*)(?:(?<=^Mozilla\/[45]\.0 \(compatible; MSIE \d.*)(?:\)|$)|\)(?= ?[\w.]+\/[\d.+]+ ?\(KHTML| ?AppleWebKit\/\d| Gecko\/\S+ ?\S| like Gecko|.* Presto\/))(.*)$/i
const KNOWN_SYSTEM =
  /Windows|Macintosh|X11|Linux|Android|iPhone|iPad|iPod|CrOS|Tizen|Web0S|webOS|SMART-TV|PlayStation|Nintendo|BlackBerry|BB10|Symbian|Series40|Bada|^masking-agent;/i
/** Matches systems whose browsers are mostly parts of apps, which add names of their own. */
const APP_SYSTEM =
  /Android|iPhone|iPad|iPod|Windows Phone|Tizen|Web0S|SMART-?TV|HbbTV|GoogleTV|BlackBerry|Series40|Bada|OpenHarmony/i

/** Matches the model of an Android device: the part after the version, up to the next semicolon (`Spider X4 Build/…`). */
const ANDROID_MODEL = /\bAndroid [\d.]+;(?: ?[a-z]{2}[-_][a-z]{2};)? ?[^;)]*/i

/** Patterns of `isbot` that mean nothing in a complete browser, each with what it matches there. */
export const HARMLESS_PATTERNS: readonly (readonly [pattern: string, found: string])[] = [
  ['\\|', 'Alipay: `AliApp(AP/10.5.0) … |720,1280`'],
  ['\\(\\)', 'an empty comment that an app appends'],
  [';\\s\\w+;$', 'the end of a television’s description: `; UHD;`'],
  ['\\b\\w+/1\\.0;', '`CE-HTML/1.0;` of televisions, `Tizen/1.0;`'],
  ['@[a-z][\\w-]+\\.', 'Taobao and Lazada: `@taobao_android_10.30.0`; e-mail addresses are looked for below'],
  ['\\.com\\b', 'names of Android packages: `air.com.example`; hosts are looked for below'],
  ['(?<!lib)http', '`HTTPS` as a feature; URLs are looked for below'],
  [
    '(?<! channel/|google/)google(?!(?:wv|app|/google| pixel))',
    'Google TV, GoogleLens, Google Earth; its fetchers: below',
  ],
  ['(?:^|[^g])news(?!sapphire)', 'apps: AppleNews, NewsArticle, SohuNews'],
  ['chromeframe', 'Internet Explorer with Google’s frame'],
  ['download', 'Internet Explorer with QQDownload or the upgrade to Windows 10'],
  ['torrent', 'a browser with its own downloads: FireTorrent'],
  ['optimize', 'Internet Explorer as MSN gave it away'],
  ['java(?!;)', 'telephones: `java_runtime_version`'],
  ['sogou', 'the browser and search apps of Sogou; its spider is in the catalog'],
  ['splash', 'Splashtop, a system that starts at once'],
]

/** Words of work that a bot on a desktop appends (`LinkCheck`), and that are names of apps on telephones and televisions. */
// biome-ignore format: a list of words
export const WORDS_OF_WORK: readonly string[] = [
  '(?<!cam)scan', 'advisor', 'analyzer', 'archive', 'audit', 'capture', 'catch', 'check\\b', 'checker', 'classifier',
  'detect', 'discovery', 'feed', 'grab', 'insight', 'inspect', 'library', 'measure', 'monitor\\b', 'node\\b', 'parser',
  'preview', 'proxy', 'radar', 'retriever', 'rss\\b', 'server', 'supercleaner', 'synapse', 'tools', 'url',
  'validator', 'virtuoso', '24x7', '\\btime/', '\\bort/', '\\bperl\\b', 'readable/', 'agent\\b', 'abuse',
]

const harmless = new Set(HARMLESS_PATTERNS.map(([pattern]) => pattern))
const toRegExp = (patterns: readonly string[]) => new RegExp(patterns.join('|'), 'i')
const GENERAL_PATTERN = toRegExp(list)
const BOT_NAME = toRegExp([
  ...list.filter((one) => !harmless.has(one) && !WORDS_OF_WORK.includes(one)),
  // Crawlers' habit for the address that explains them.
  String.raw`\+https?:`,
])
const WORK = toRegExp(WORDS_OF_WORK)

/** Matches a bot that adds its name where browsers describe the engine: `(KHTML, like Gecko; compatible; Name/1.0)`. */
const ADDED_NAME = /like Gecko(?:[;,] ?|\).*[(;] ?)compatible; ?(?!MSIE )[\w.-]/i

/**
 * Matches a name of work that a bot on a desktop appends or puts into the platform's comment, in the letters in which such
 * names are written: `Mail` has AI too.
 */
const NAME_OF_WORK = new RegExp(
  [
    String.raw`\b[A-Z]\w*(?:[a-z](?:AI|UA)|Agent|Monitor|[DIS]AST)\b`,
    String.raw`\b\w*(?:Alert|Extract|Fetch|Scree(?:nie|nshot)|[Ss]napr|Synthetic|[Tt]humb|Translate)\w*`,
    String.raw`-scan\b|Safari/[\d.]+ \([A-Z]\w+\)$|; www\.[\w.-]+\)$`,
  ].join('|'),
)

/** Matches a product after the closed comment of Internet Explorer, which has none; add-ons are inside the comment. */
const AFTER_EXPLORER =
  /^Mozilla\/[45]\.0 \(compatible; MSIE \d[^()]*Windows NT[^()]*\) (?!Opera|chromeframe|BMID|UCBrowser|Maxthon|Webwasher|Vodafone|Sleipnir)([A-Z]\w+\/\d[\d.]*)/

/** Matches a program that puts its bare name where a browser of WebKit puts name and version. */
const BARE_NAME = /like Gecko\) (?!rekonq)[a-z]+ Safari\//

/** Matches the other ways in which a bot in the form of a browser says whose it is. */
const DECLARATION = toRegExp([
  // An address to ask at. QtWeb is a browser that ends in its own address.
  String.raw`https?://(?!www\.QtWeb\.net)`,
  String.raw`[\w.+-]@[a-z\d-]+(?:\.[a-z\d-]+)*\.[a-z]{2,}\b`,
  String.raw`(?<![\w.@-])(?:www\.)?[\w-]+\.com\b(?![.\w])`,
  // A name where browsers describe the engine or the system.
  'like Gecko[;,] ?[a-z]',
  String.raw`\bcompatible; ?(?!MSIE )`,
  // Google's fetchers; its apps and systems have other names.
  String.raw`\bGoogle[-_](?!TV)[a-z]|\bGoogle (?:favicon|partner)|[-_]Google\b`,
  String.raw`(?<!^Mozilla/5\.0 \(masking)-agent\b`,
  // Simulators of developers, in the form of the device that they show.
  String.raw`devtools\b`,
])

/**
 * Returns the text that shows a bot which the catalog does not know, or undefined for a person. Ordinary browsers cost three
 * short tests; the rest runs only if the general pattern matches.
 */
export function findBotSign(userAgent: string): string | undefined {
  const general = GENERAL_PATTERN.exec(userAgent)
  if (!userAgent.includes('AppleWebKit') && !CLIENT_WORD.test(userAgent)) return general?.[0] ?? programName(userAgent)
  if (general !== null && PLAIN_BROWSER.test(userAgent)) return undefined
  return (general && findDeclaration(userAgent, general[0])) ?? findAddedName(userAgent)
}

/** Returns the name of a program: the one after `Mozilla/5.0 (…)`, or else the first one inside the comment or the text. */
const programName = (userAgent: string): string =>
  /^Mozilla\/[\d.]+ \([^)]*\) ([^\s(]+)/.exec(userAgent)?.[1] ??
  /[^\s();,]+/.exec(userAgent.replace(/^Mozilla\/[\d.]+ \((?:compatible;)?/i, ''))?.[0] ??
  userAgent

/** Returns the name that a complete browser has and that no browser would have, or undefined. */
function findAddedName(userAgent: string): string | undefined {
  const added = userAgent.includes('ompatible;') ? ADDED_NAME.exec(userAgent) : null
  if (added !== null || APP_SYSTEM.test(userAgent)) return added?.[0]
  return NAME_OF_WORK.exec(userAgent)?.[0] ?? AFTER_EXPLORER.exec(userAgent)?.[1] ?? BARE_NAME.exec(userAgent)?.[0]
}

/** Returns the text by which a user agent declares a bot, where the general pattern found `general`; undefined for a person. */
function findDeclaration(userAgent: string, general: string): string | undefined {
  const [, platform, rest] = COMPLETE_BROWSER.exec(userAgent) ?? []
  if (platform === undefined || rest === undefined || !KNOWN_SYSTEM.test(platform)) return general
  const withoutModel = userAgent.replace(ANDROID_MODEL, '')
  // Add-ons and toolbars wrote what they liked into the comments of Internet Explorer and the old Opera.
  const isOld = platform.startsWith('compatible; MSIE') || userAgent.startsWith('Opera/')
  const own = isOld ? rest : withoutModel
  const sign =
    BOT_NAME.exec(withoutModel) ?? DECLARATION.exec(own) ?? (APP_SYSTEM.test(userAgent) ? null : WORK.exec(rest))
  return sign?.[0]
}
