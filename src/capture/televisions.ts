/** A sign of a television or set-top box in a user agent. */
interface TelevisionSign {
  pattern: string
  /** The document that describes the sign, or the list of user agents that has it. */
  source: string
}

/**
 * The signs by which televisions are told. `ua-parser-js` knows the names of some makers; most televisions write one of
 * these signs, of any maker.
 */
const TELEVISION_SIGNS: readonly TelevisionSign[] = [
  // Standards
  { pattern: String.raw`\bHbbTV/`, source: 'ETSI TS 102 796, 7.3.2.4: User-Agent of hybrid broadcast televisions' },
  { pattern: String.raw`\bCE-HTML/`, source: 'CEA-2014: User-Agent of networked consumer devices' },
  { pattern: String.raw`\bHybridcast/`, source: 'IPTVFJ STD-0011: Japanese broadcast televisions' },
  { pattern: String.raw`\bDLNADOC/`, source: 'DLNA guidelines: media players and televisions' },
  {
    pattern: String.raw`\bInettvBrowser/|\(DTV[;)]`,
    source: 'Japanese digital televisions; fixtures of Matomo device-detector',
  },
  // Systems and their browsers
  {
    pattern: String.raw`\bWeb0S;`,
    source: 'LG, webostv.developer.lge.com: User-Agent of webOS TV is "(Web0S; Linux/SmartTV)"',
  },
  {
    pattern: String.raw`\bNetCast\b|\bLG Browser/`,
    source: 'LG NetCast, televisions before webOS; Matomo device-detector',
  },
  {
    pattern: String.raw`\bSMART-?TV\b|\bSmart_?TV|\bLinux/SmartTV`,
    source: 'Samsung, developer.samsung.com/smarttv: "(SMART-TV; Linux; Tizen …)"; others write SmartTV',
  },
  { pattern: String.raw`\bTizen\b.*\bTV\b`, source: 'Samsung, developer.samsung.com/smarttv: "TV Safari" after Tizen' },
  {
    pattern: String.raw`\bMaple[_ ]?\d|\bMaple\b.*\bNavi\b`,
    source: 'Samsung televisions of 2009 to 2012; Matomo device-detector',
  },
  { pattern: String.raw`\bVIDAA/`, source: 'Hisense and Toshiba, vidaa.com: "VIDAA/6.0(Hisense;SmartTV;…)"' },
  { pattern: String.raw`\bRoku/|\bRoku\b.*\bDVP`, source: 'Roku, developer.roku.com: "Roku/DVP-9.10"' },
  {
    pattern: String.raw`\bAFT[A-Z]{1,5}\d{0,3}\b`,
    source: 'Amazon, developer.amazon.com/docs/fire-tv: models of Fire TV begin with AFT',
  },
  {
    pattern: String.raw`\bCrKey/|\bChromecast\b`,
    source: 'Google, developers.google.com/cast: User-Agent of Cast devices',
  },
  {
    pattern: String.raw`\bGoogle ?TV\b|\bLarge Screen\b`,
    source: 'Google TV of 2010 and since 2020; Matomo device-detector',
  },
  {
    pattern: String.raw`\bAndroid ?TV\b|\bATV\b|\bBRAVIA\b|\bMi ?TV|\bMi ?Box\b|\bNexus Player\b`,
    source: 'models of Android TV',
  },
  { pattern: String.raw`\bAppleTV|\bApple TV\b`, source: 'Apple: the model name of Apple TV' },
  { pattern: String.raw`\bPlayStation Vita TV\b|\bWebTV/`, source: 'Microsoft WebTV; Matomo device-detector' },
  // Makers and portals
  { pattern: String.raw`\bNETTV/|\bPhilipsTV\b|PHILIPS-AVM`, source: 'Philips Net TV; Matomo device-detector' },
  {
    pattern: String.raw`NETRANGEMMH|\bDuneHD/|\bKreaTV/`,
    source: 'portals of televisions and set-top boxes; Matomo device-detector',
  },
  {
    pattern: String.raw`\bOpera TV|\bOMI/|\bSonyCEBrowser/|\bSonyDTV`,
    source: 'Opera (now Vewd), the television edition; Sony',
  },
  { pattern: String.raw`\bAQUOS-|\bAQUOS ?TV|\bAQUOSBrowser/`, source: 'Sharp televisions; Matomo device-detector' },
  { pattern: String.raw`\bViera\b`, source: 'Panasonic televisions; Matomo device-detector' },
  {
    pattern: String.raw`\b(?:LOEWE|olleh|TSBNet|TiVo|POV_)[ /_-]?TV`,
    source: 'Loewe, KT, Toshiba, Point of View; Matomo device-detector',
  },
  {
    pattern: String.raw`\bTV[ -]?Bro(?:wser)?\b|\bJioPagesTV\b|\bBrowseHere\b|\bSraf/|\bEspial/|\bVewd\b|\bKylo/|\bTiVo`,
    source: 'browsers and systems that are made for televisions; Matomo device-detector',
  },
  { pattern: String.raw`\bTV Safari/|Safari/[\d.]+ TV\b`, source: 'Yandex and Samsung Internet on televisions' },
  { pattern: String.raw`\b(?:set-?top[ -]?box|STB)\b`, source: 'set-top boxes; Matomo device-detector' },
]

/** Signs in the model of an Android device: the part after the system's version, up to the end of the comment. */
const MODEL_SIGNS: readonly TelevisionSign[] = [
  {
    pattern: String.raw`\b(?:TV|STB|TV_?BOX|MK8\d\d\w?|GTV\d+)\b|[a-z]{3}TV\b|box\b`,
    source: 'the model names itself a television or set-top box',
  },
  { pattern: String.raw`\dLED\d*\b|LED[-_]?\d\d`, source: 'the kind of screen with its size; Matomo device-detector' },
  {
    pattern: '(?:^|[; ])(?:H96|X96|X88|A95X|T95|HK1|MXQ|Tanix|Mecool)',
    source: 'series of set-top boxes; Matomo device-detector',
  },
  {
    pattern: String.raw`^ ?(?:[a-z]{2}[-_][a-z]{2}; )?(?:[a-z\d]+[_-])?(?:24|28|32|39|40|42|43|48|49|50|55|58|65|70|75|77|82|85|86|98)[A-Z]{2}[\w-]+(?: Build|;|$)`,
    source:
      'the model begins with a screen size in inches (43LF7202T), or has it after the maker; Matomo device-detector',
  },
]

const toRegExp = (signs: readonly TelevisionSign[]) => new RegExp(signs.map(({ pattern }) => pattern).join('|'), 'i')
const TELEVISION = toRegExp(TELEVISION_SIGNS)
const TELEVISION_MODEL = toRegExp(MODEL_SIGNS)

/** Tells whether a user agent is a television's or set-top box's; `model` is that of an Android device. */
export const isTelevision = (userAgent: string, model = ''): boolean =>
  TELEVISION.test(userAgent) || TELEVISION_MODEL.test(model)
