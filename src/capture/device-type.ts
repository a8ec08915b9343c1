import { isTelevision } from './televisions.js'

/** Matches what only builds for iOS write, in the user agent of a Mac that an iPad sends to get the desktop site. */
const IPAD_AS_MAC =
  /^Mozilla\/5\.0 \(Macintosh;.*(?:\b(?:[A-Z][A-Za-z]*iOS|GSA|OPT|OPX|DuckDuckGo)\/\d|\bMobile\/\d+[A-Z]\d+|\bFBDV\/iPad|\bFBSN\/i(?:Pad)?OS)/

/** Tells whether an iPad asks for the desktop site; a telephone that does so looks the same. */
export const isIpadAsMac = (userAgent: string): boolean => IPAD_AS_MAC.test(userAgent)

/** Matches consoles, and handheld ones with Android by the names of their makers. */
const CONSOLE =
  /\bXbox|\bPlayStation|\bNintendo\b|\bOUYA\b|\bGAMEPAD|\bRetroid Pocket|\bANBERNIC|\bAYN[ _]|\bAYANEO|\bGPD XD|\bGR0006\b/i

/** Matches the browsers in cars: Tesla's, and those that name Android Automotive. */
const CAR_BROWSER = /\bQtCarBrowser\b|\bTesla\/\S*20\d\d\.|\bAutomotive\b/i
/** Matches models of Android that are built into cars, by the car's maker, the head unit's series or its chip. */
const CAR_MODEL =
  /\b(?:Polestar|Porsche|Volvo Cars?|benz_|CarPad|KZCAR|AIVI-|SDA-\d+TAB|F9212|MPC-\d{2,3}|8227L_demo|Ultra ?Octa|(?:OCTA|OCTOPUS|QUAD)-?CORE[- ][TR]\d|QuadCore-[TR]\d)|\bsp9853i_\w+_vmm\b/i

/** Matches telephones without Android or iOS, by the standards and browsers that only they have. */
const PLAIN_TELEPHONE =
  /\bMIDP|\bCLDC|\bUCWEB|\bUP\.(?:Browser|Link)|\bNetFront\/|Obigo|\bTeleca\b|\bMAUI\b|\bWAP[- ]?Browser|\bBREW\b|\bKDDI-|\bDoCoMo\/|IEMobile|ZuneHD|\bKAIOS\//i

/** Matches the part of a user agent that has the model of an Android device. */
const ANDROID_MODEL = /\bAndroid\b[^;)]*[;)]?([^)]*)/i
/** Matches tablets whose browsers say "Mobile" as telephones' do, by the words and series in the names of models. */
const TABLET_MODEL =
  /Tablet|(?:[a-z\d_ -]|\b)Tab(?:[ _-]?[A-Z\d]|\b)|TAB[\d_ -]|(?<!Phone|Tech ?)Pad(?!Fone|fone)(?:[\d _A-Z-]|\b)|PAD(?:[\d _-]|\b)|\bSlate|SlidePad|\bKindle|\bKF[A-Z]{3,5}\b|\bSM-[TXP]\d{3}|\bGT-P[5-7]\d{3}|\bNexus (?:7|9|10)\b|\bP?MID-?\d{3}|\biPlay ?\d|\bTM-(?:[789]|1\d)\d{3}\w*|\bTM-1\d{3}|\bNumy|\bB[13]-[A7]\d\d/

/** Returns the type of a device by its user agent alone; `parsed` is what the parser read. */
export function deviceTypeOf(userAgent: string, parsed: string | null): string | null {
  if (CONSOLE.test(userAgent)) return 'console'
  const model = ANDROID_MODEL.exec(userAgent)?.[1]
  if (CAR_BROWSER.test(userAgent) || (model !== undefined && CAR_MODEL.test(model))) return 'embedded'
  if (isTelevision(userAgent, model)) return 'tv'
  if (model !== undefined) return androidType(userAgent, model, parsed)
  // Apps that have no layout for tablets run as telephones' there, and add the real model.
  if (/\biPad\d+,\d/.test(userAgent)) return 'tablet'
  return (parsed === null || parsed === 'desktop') && PLAIN_TELEPHONE.test(userAgent) ? 'mobile' : parsed
}

/** Returns the type of an Android device: its browsers say "Mobile" on a telephone, but apps say so on a tablet too. */
function androidType(userAgent: string, model: string, parsed: string | null): string | null {
  if (parsed !== null && parsed !== 'mobile' && parsed !== 'tablet') return parsed
  const mobile = userAgent.includes('Mobile')
  // Yandex's apps name the kind of device that they were installed on.
  if (/\/apad\b/.test(userAgent)) return 'tablet'
  if ((!mobile && userAgent.includes('Safari/')) || TABLET_MODEL.test(model)) return 'tablet'
  return mobile ? 'mobile' : parsed
}
