import UAParser from 'ua-parser-js'
import { createRecentCache } from '../base/cache.js'
import { MAX_CHARACTERS, truncate } from '../base/text-limits.js'
import { deviceTypeOf, isIpadAsMac } from './device-type.js'
import type { Observation } from './observation.js'
import { nameSystem } from './system-names.js'

/** A browser's description of itself; null where it says nothing. */
export interface Device {
  browser: string | null
  /** As claimed, major and minor without trailing zeros: `142`, `26.1`. */
  browser_version: string | null
  os: string | null
  /** As claimed: browsers freeze it (Windows 10, macOS 10.15, Android 10) unless a client hint says more. */
  os_version: string | null
  /** desktop, mobile, tablet, tv, console, wearable, xr, embedded */
  device_type: string | null
}

const HINT_HEADERS = [
  'sec-ch-ua',
  'sec-ch-ua-full-version-list',
  'sec-ch-ua-platform',
  'sec-ch-ua-platform-version',
  'sec-ch-ua-mobile',
] as const
/** Separates the parts of a cache key; no header contains a line break. */
const SEPARATOR = '\n'

const UNKNOWN_DEVICE: Device = { browser: null, browser_version: null, os: null, os_version: null, device_type: null }

/** Parsing new user agents takes at most this share of the time, and never more than `MAX_BURST_MS` ahead. */
const MAX_TIME_SHARE = 0.5
const MAX_BURST_MS = 2000

/**
 * Creates a function that reads a user agent (already truncated) with its client hints; caches the last `limit` devices.
 * A new user agent costs 0.1 ms, one made to hurt the parser 5 ms. With a `clock` (monotonic milliseconds), a flood of
 * those leaves some devices unknown instead of delaying every row after them.
 */
export function createDeviceReader({ limit = 8192, clock }: { limit?: number; clock?: () => number } = {}) {
  const cache = createRecentCache<string, Device>(limit)
  let spent = 0
  let last = clock?.() ?? 0

  const read = (key: string): Device => {
    const cached = cache.get(key)
    if (cached !== undefined) return cached
    const start = clock?.() ?? 0
    spent = Math.max(0, spent - (start - last) * MAX_TIME_SHARE)
    last = start
    if (spent >= MAX_BURST_MS) return UNKNOWN_DEVICE
    const [userAgent = '', ...hints] = key.split(SEPARATOR)
    const device = parseDevice(userAgent, hints)
    cache.set(key, device)
    spent += (clock?.() ?? 0) - start
    return device
  }

  return (userAgent: string, headers: Observation['headers']): Device => {
    if (headers === undefined || (headers['sec-ch-ua'] === undefined && headers['sec-ch-ua-platform'] === undefined))
      return read(userAgent)
    let key = userAgent
    for (const name of HINT_HEADERS) key += SEPARATOR + truncate(headers[name] ?? '', 256)
    return read(key)
  }
}

const BROWSER_NAMES: Record<string, string> = {
  'Mobile Safari': 'Safari',
  'Mobile Chrome': 'Chrome',
  'Mobile Firefox': 'Firefox',
  'Chrome Headless': 'Chrome',
  'Opera Mobi': 'Opera',
  'Opera Touch': 'Opera',
  'Samsung Browser': 'Samsung Internet',
  'Yandex Browser': 'Yandex',
  GSA: 'Google App',
  IE: 'Internet Explorer',
  IEMobile: 'Internet Explorer',
  Oculus: 'Meta Quest Browser',
  'Oculus Browser': 'Meta Quest Browser',
}

function parseDevice(userAgent: string, hints: readonly string[]): Device {
  const { browser, os, device } = new UAParser(userAgent).getResult()
  const system = nameSystem(os.name)
  const claimed: Device = {
    browser: normaliseName(browser.name, BROWSER_NAMES),
    browser_version: shortVersion(browser.version),
    os: system,
    os_version: system === 'ChromeOS' || system === 'webOS' ? null : shortVersion(os.version),
    device_type: device.type === 'smarttv' ? 'tv' : (device.type ?? null),
  }
  return withDeviceType(applyClientHints(correctParserErrors(claimed, userAgent), hints))
}

const normaliseName = (name: string | undefined, names: Record<string, string>): string | null => {
  if (name === undefined || name === '') return null
  return Object.hasOwn(names, name) ? (names[name] ?? null) : truncate(name, MAX_CHARACTERS.text)
}

/** Returns major and minor: `142.0.7444.77` becomes `142`; `18.6` and `XP` stay. */
function shortVersion(text: string | undefined): string | null {
  if (text === undefined || text === '') return null
  const [, major, minor] = /^(\d+)(?:\.(\d+))?/.exec(text) ?? []
  if (major === undefined) return truncate(text, 32)
  return truncate(minor === undefined || /^0+$/.test(minor) ? major : `${major}.${minor}`, 32)
}

/** Corrects what the parser reads wrong; its last version under a free licence is of 2024. */
function correctParserErrors(device: Device, userAgent: string): Device {
  if (/Apple ?Watch|Watch OS/.test(userAgent))
    return { ...device, os: 'watchOS', os_version: null, device_type: 'wearable' }
  if (device.browser === 'Meta Quest Browser') return { ...device, os: 'Android', os_version: null, device_type: 'xr' }
  if (isIpadAsMac(userAgent)) return { ...device, os: 'iOS', os_version: null, device_type: 'tablet' }
  const typed = { ...device, device_type: deviceTypeOf(userAgent, device.device_type) }
  if (typed.device_type === 'tv' && (typed.os === null || typed.os === 'Linux')) {
    const [system] = /\bVIDAA\b|\bTiVo/.exec(userAgent) ?? []
    return system === undefined ? typed : { ...typed, os: system === 'TiVo' ? 'TiVo OS' : system, os_version: null }
  }
  if (typed.os === null && /\bXbox/i.test(userAgent)) return { ...typed, os: 'Xbox' }
  if (device.os === 'iOS') {
    // Since iOS 26 the system's number is frozen at 18, and Safari's own version carries the real one.
    const [, safari] = /Version\/(\d+\.\d+)/.exec(userAgent) ?? []
    if (safari !== undefined && Number.parseFloat(safari) >= 26) return { ...typed, os_version: shortVersion(safari) }
  }
  return typed
}

/** Browsers that call themselves Chrome in the user agent, by their names in `Sec-CH-UA`. */
const BRAND_NAMES: Record<string, string> = {
  Brave: 'Brave',
  Vivaldi: 'Vivaldi',
  Opera: 'Opera',
  'Opera GX': 'Opera GX',
  'Microsoft Edge': 'Edge',
  'Samsung Internet': 'Samsung Internet',
  YaBrowser: 'Yandex',
  Arc: 'Arc',
  DuckDuckGo: 'DuckDuckGo',
}

/** Applies client hints, which say what the user agent no longer does (W3C User-Agent Client Hints). */
function applyClientHints(
  device: Device,
  [brands = '', full = '', platform = '', release = '', mobile = '']: readonly string[],
): Device {
  const hinted = { ...device }
  for (const [, brand = '', number] of `${full},${brands}`.matchAll(/"([^"]{1,64})"\s*;\s*v="(\d[\d.]{0,31})"/g))
    if (Object.hasOwn(BRAND_NAMES, brand)) {
      hinted.browser = BRAND_NAMES[brand] ?? null
      hinted.browser_version = shortVersion(number)
      break
    }
  const system = unquote(platform)
  if (system !== '' && system !== 'Unknown') hinted.os = nameSystem(system)
  if (hinted.os !== device.os) hinted.os_version = null
  const number = unquote(release)
  if (/^\d/.test(number))
    hinted.os_version = hinted.os === 'Windows' ? (windowsVersion(number) ?? hinted.os_version) : shortVersion(number)
  if (mobile === '?1' && (hinted.device_type === null || hinted.device_type === 'desktop'))
    hinted.device_type = 'mobile'
  // Some browsers of tablets call themselves "Mobile" in the user agent; the hint of Chromium does not.
  if (mobile === '?0' && hinted.os === 'Android' && hinted.device_type === 'mobile') hinted.device_type = 'tablet'
  return hinted
}

const unquote = (text: string) => text.replace(/^"|"$/g, '').trim()

/** The hint counts versions of an API, not of the product: 13 and later is Windows 11, 1 to 10 is Windows 10, 0 is older. */
function windowsVersion(release: string): string | null {
  const major = Number.parseInt(release, 10)
  return major >= 13 ? '11' : major >= 1 ? '10' : null
}

/** A browser on a known system that names no device runs on a desktop. */
const withDeviceType = (device: Device): Device =>
  device.device_type === null && (device.browser !== null || device.os !== null)
    ? { ...device, device_type: device.os === 'Android' || device.os === 'iOS' ? 'mobile' : 'desktop' }
    : device
