import t from 'tap'
import { createDeviceReader } from '../../src/capture/device.js'
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
