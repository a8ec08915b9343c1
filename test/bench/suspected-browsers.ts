import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { chromium } from 'playwright-core'
import { z } from 'zod'
import { BROWSER_SWITCHES } from '../fixtures/browser.js'
import { IPHONE, SAFARI } from '../fixtures/browser-headers.js'
import { findBrowser } from '../fixtures/browser-program.js'
import { freePort } from '../fixtures/instance.js'

/** One person's browser, with an empty cache at first. Each act returns after the page has loaded. */
export interface Visitor {
  open(url: string): Promise<unknown>
  /** Follows the link with this id to another path. */
  follow(id: string, path: string): Promise<unknown>
  reload(): Promise<unknown>
  back(): Promise<unknown>
  /** Opens an address in a new tab, and stays there. */
  openTab(url: string): Promise<unknown>
  leave(): Promise<unknown>
}

/** A real browser that visitors can be recorded with. */
export interface DrivenBrowser {
  /** Name and version. */
  name: string
  /** Starts the n-th visitor: device, language and settings differ. */
  visit(n: number): Promise<Visitor>
  close(): Promise<unknown>
}

/** Returns the item for the n-th visitor; the list repeats. */
const pick = <T>(list: readonly T[], n: number): T => {
  const one = list[n % list.length]
  if (one === undefined) throw new Error('the list is empty')
  return one
}

const CHROMIUM_VERSION = '147'
export const CHROMIUM_DESKTOP = `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${CHROMIUM_VERSION}.0.0.0 Safari/537.36`
const CHROMIUM_PHONE = `Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${CHROMIUM_VERSION}.0.0.0 Mobile Safari/537.36`
export const CHROMIUM_BRANDS = [
  { brand: 'Chromium', version: CHROMIUM_VERSION },
  { brand: 'Google Chrome', version: CHROMIUM_VERSION },
  { brand: 'Not_A Brand', version: '99' },
]
/** Named as the same Chromium with a window: the headless one says what it is in its name and hints. */
const CHROMIUM_PROFILES = [
  { userAgent: CHROMIUM_DESKTOP, acceptLanguage: 'en-US', platform: 'Linux', mobile: false, javaScriptEnabled: true },
  { userAgent: CHROMIUM_PHONE, acceptLanguage: 'de-DE', platform: 'Android', mobile: true, javaScriptEnabled: true },
  { userAgent: CHROMIUM_DESKTOP, acceptLanguage: 'fr-FR', platform: 'Linux', mobile: false, javaScriptEnabled: false },
] as const

/** Starts the Chromium of the tests. */
async function openChromium(): Promise<DrivenBrowser> {
  const { shell, ...program } = findBrowser()
  const browser = await chromium.launch({ ...program, args: BROWSER_SWITCHES })
  return {
    name: `Chromium ${browser.version()}${shell ? ', headless shell' : ''}`,
    async visit(n) {
      const { userAgent, acceptLanguage, platform, mobile, javaScriptEnabled } = pick(CHROMIUM_PROFILES, n)
      const context = await browser.newContext({ ignoreHTTPSErrors: true, javaScriptEnabled })
      const hints = { brands: CHROMIUM_BRANDS, platform, mobile, platformVersion: '', architecture: '', model: '' }
      const openPage = async () => {
        const page = await context.newPage()
        await (await context.newCDPSession(page)).send('Emulation.setUserAgentOverride', {
          ...{ userAgent, acceptLanguage, userAgentMetadata: hints },
        })
        return page
      }
      let page = await openPage()
      return {
        open: (url) => page.goto(url),
        follow: async (id, path) => {
          await Promise.all([page.waitForURL(`**${path}`), page.click(`#${id}`)])
          await page.waitForLoadState('load')
        },
        reload: () => page.reload(),
        back: () => page.goBack(),
        async openTab(url) {
          page = await openPage()
          await page.goto(url)
        },
        leave: () => context.close(),
      }
    },
    close: () => browser.close(),
  }
}

/** Sends a command of WebDriver by the name that Marionette gives it, and returns its value. */
type Send = (command: string, parameters?: Readonly<Record<string, unknown>>) => Promise<unknown>

const Value = z.object({ value: z.unknown() })
const unwrap = (value: unknown): unknown => Value.safeParse(value).data?.value ?? value
const MarionetteReply = z.tuple([z.literal(1), z.int(), z.unknown(), z.unknown()])

/** Connects to the port of Firefox's Marionette: messages are JSON after their length and a colon. */
async function connectMarionette(port: number): Promise<{ send: Send; socket: Socket }> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const pending = new Map<number, (error: unknown, value: unknown) => void>()
  let [received, sent] = [Buffer.alloc(0), 0]
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk])
    for (;;) {
      const colon = received.indexOf(':')
      const end = colon + 1 + Number(received.subarray(0, Math.max(0, colon)))
      if (colon < 0 || received.length < end) return
      const reply = MarionetteReply.safeParse(JSON.parse(received.toString('utf8', colon + 1, end)))
      received = received.subarray(end)
      // The first message says which protocol this is.
      if (!reply.success) continue
      const [, id, error, value] = reply.data
      pending.get(id)?.(error, value)
      pending.delete(id)
    }
  })
  const send: Send = (command, parameters = {}) =>
    new Promise((resolve, reject) => {
      const text = JSON.stringify([0, ++sent, command, parameters])
      pending.set(sent, (error, value) => {
        if (error === null) resolve(unwrap(value))
        else reject(new Error(`${command}: ${JSON.stringify(error).slice(0, 300)}`))
      })
      socket.write(`${Buffer.byteLength(text)}:${text}`)
    })
  return { send, socket }
}

/** Repeats an attempt each quarter of a second for up to a minute, while a program starts. */
async function eventually<T>(attempt: () => Promise<T>): Promise<T> {
  for (let left = 240; ; left--) {
    try {
      return await attempt()
    } catch (error) {
      if (left === 0) throw error
      await delay(250)
    }
  }
}

/** Starts a program with a home directory of its own. */
function startProgram(program: string, args: (home: string) => string[], env: NodeJS.ProcessEnv = {}) {
  const home = mkdtempSync(join(tmpdir(), 'readership-bench-'))
  const child = spawn(program, args(home), {
    ...{ stdio: ['ignore', 'pipe', 'ignore'], env: { ...process.env, HOME: home, ...env } },
  })
  return {
    stdout: child.stdout,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill()
        await once(child, 'exit')
      }
      rmSync(home, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

const FIREFOX_PROGRAMS = ['/usr/bin/firefox-esr', '/usr/bin/firefox']
/** Preferences of Firefox by profile; those of another profile are reset. A phone is named, not emulated. */
const FIREFOX_PROFILES: readonly ((version: string) => Preferences)[] = [
  () => ({}),
  (version) => ({
    'general.useragent.override': `Mozilla/5.0 (Android 15; Mobile; rv:${version}) Gecko/${version} Firefox/${version}`,
    'intl.accept_languages': 'de,en-US,en',
  }),
  () => ({ 'javascript.enabled': false, 'intl.accept_languages': 'fr' }),
  () => ({
    ...{ 'privacy.resistFingerprinting': true, 'privacy.globalprivacycontrol.enabled': true },
    ...{ 'privacy.donottrackheader.enabled': true, 'network.http.referer.XOriginPolicy': 2 },
  }),
]
type Preferences = Readonly<Record<string, string | number | boolean>>
/** Sends every request beyond loopback to a port that nothing listens on. */
const FIREFOX_OFFLINE: Preferences = {
  ...{ 'network.proxy.type': 1, 'network.proxy.http': '127.0.0.1', 'network.proxy.http_port': 9 },
  ...{ 'network.proxy.ssl': '127.0.0.1', 'network.proxy.ssl_port': 9, 'app.update.auto': false },
}
/** Runs with the browser's own rights: sets preferences, and empties all caches. */
const RESET_FIREFOX = `const [preferences, done] = arguments
for (const [name, value] of Object.entries(preferences)) {
  if (value === null) Services.prefs.clearUserPref(name)
  else if (typeof value === 'boolean') Services.prefs.setBoolPref(name, value)
  else if (typeof value === 'number') Services.prefs.setIntPref(name, value)
  else Services.prefs.setStringPref(name, value)
}
const { CLEAR_ALL_CACHES } = Ci.nsIClearDataService
Services.clearData.deleteData(CLEAR_ALL_CACHES, { onDataDeleted: () => done(true) })`

/** Starts an installed Firefox without a window, driven through Marionette; undefined if none is installed. */
async function openFirefox(): Promise<DrivenBrowser | undefined> {
  const program = FIREFOX_PROGRAMS.find((path) => existsSync(path))
  if (program === undefined) return undefined
  const port = await freePort()
  const started = startProgram(program, (directory) => {
    const preferences = Object.entries({ ...FIREFOX_OFFLINE, 'marionette.port': port })
    const lines = preferences.map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});`)
    writeFileSync(join(directory, 'user.js'), lines.join('\n'))
    return ['--headless', '--no-remote', '--marionette', '--remote-allow-system-access', '--profile', directory]
  })
  const { send, socket } = await eventually(() => connectMarionette(port))
  const session = await send('WebDriver:NewSession', { acceptInsecureCerts: true })
  const { capabilities } = z.object({ capabilities: z.object({ browserVersion: z.string() }) }).parse(session)
  const version = `${Number.parseInt(capabilities.browserVersion, 10)}.0`
  const names = FIREFOX_PROFILES.flatMap((preferences) => Object.keys(preferences(version)))
  const unset = Object.fromEntries(names.map((name) => [name, null]))
  return {
    name: `Firefox ${capabilities.browserVersion}, headless`,
    async visit(n) {
      const preferences = { ...unset, ...pick(FIREFOX_PROFILES, n)(version) }
      await send('Marionette:SetContext', { value: 'chrome' })
      await send('WebDriver:ExecuteAsyncScript', { script: RESET_FIREFOX, args: [preferences] })
      await send('Marionette:SetContext', { value: 'content' })
      return createVisitor(send, async () => {})
    },
    async close() {
      socket.end()
      await started.stop()
    },
  }
}

const WEBKIT_PROGRAMS = {
  driver: '/usr/bin/WebKitWebDriver',
  browser: '/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser',
  display: '/usr/bin/Xvfb',
}
/** Named as Safari of a Mac and of a phone, and as itself. */
const WEBKIT_PROFILES: readonly string[][] = [[`--user-agent=${SAFARI}`], [`--user-agent=${IPHONE}`], []]
/** Method and path of a command below the session. */
const WEBKIT_COMMANDS: Readonly<Record<string, readonly [string, string]>> = {
  'WebDriver:Navigate': ['POST', 'url'],
  'WebDriver:GetCurrentURL': ['GET', 'url'],
  'WebDriver:Refresh': ['POST', 'refresh'],
  'WebDriver:Back': ['POST', 'back'],
  'WebDriver:FindElement': ['POST', 'element'],
  'WebDriver:ElementClick': ['POST', 'element/ID/click'],
  'WebDriver:NewWindow': ['POST', 'window/new'],
  'WebDriver:CloseWindow': ['DELETE', 'window'],
  'WebDriver:SwitchToWindow': ['POST', 'window'],
  'WebDriver:DeleteSession': ['DELETE', ''],
}
const WebKitSession = z.object({ sessionId: z.string(), capabilities: z.object({ browserVersion: z.string() }) })

/** Opens WebKitGTK's browser on a display in memory; undefined if it, its driver or the display is not installed. */
async function openWebKit(): Promise<DrivenBrowser | undefined> {
  if (!Object.values(WEBKIT_PROGRAMS).every((path) => existsSync(path))) return undefined
  const display = startProgram(WEBKIT_PROGRAMS.display, () => ['-displayfd', '1', '-nolisten', 'tcp'])
  const [number] = await once(display.stdout, 'data')
  const port = await freePort()
  const driver = startProgram(WEBKIT_PROGRAMS.driver, () => [`--port=${port}`], {
    ...{ DISPLAY: `:${String(number).trim()}`, LANGUAGE: 'en_US', LIBGL_ALWAYS_SOFTWARE: '1' },
  })
  const call = async (method: string, path: string, body: object): Promise<unknown> => {
    const sent = method === 'POST' ? { method, body: JSON.stringify(body) } : { method }
    const response = await fetch(`http://127.0.0.1:${port}/session${path}`, sent)
    const { value } = Value.parse(await response.json())
    if (!response.ok) throw new Error(`${path}: ${JSON.stringify(value).slice(0, 300)}`)
    return value
  }
  const openSession = async (args: string[]) => {
    const options = { binary: WEBKIT_PROGRAMS.browser, args: ['--automation', ...args] }
    const alwaysMatch = { acceptInsecureCerts: true, 'webkitgtk:browserOptions': options }
    const { sessionId, capabilities } = WebKitSession.parse(await call('POST', '', { capabilities: { alwaysMatch } }))
    const send: Send = (command, parameters = {}) => {
      const [method, path] = WEBKIT_COMMANDS[command] ?? ['GET', '']
      const below = path === '' ? '' : `/${path.replace('ID', String(parameters.id))}`
      return call(method, `/${sessionId}${below}`, parameters)
    }
    return { send, version: capabilities.browserVersion }
  }
  const first = await eventually(() => openSession([]))
  await first.send('WebDriver:DeleteSession')
  return {
    name: `WebKitGTK ${first.version}`,
    async visit(n) {
      // A session is a browser of its own, which keeps nothing.
      const { send } = await openSession(pick(WEBKIT_PROFILES, n))
      return createVisitor(send, () => send('WebDriver:DeleteSession'))
    },
    async close() {
      await driver.stop()
      await display.stop()
    },
  }
}

const Element = z.record(z.string(), z.string())
const Tab = z.object({ handle: z.string() })

/** Returns a visitor with a new tab, of a browser that is driven by commands of WebDriver. */
async function createVisitor(send: Send, leave: Visitor['leave']): Promise<Visitor> {
  const enterTab = async () => {
    const { handle } = Tab.parse(await send('WebDriver:NewWindow', { type: 'tab' }))
    await send('WebDriver:CloseWindow')
    await send('WebDriver:SwitchToWindow', { handle })
  }
  await enterTab()
  return {
    open: (url) => send('WebDriver:Navigate', { url }),
    async follow(id, path) {
      const element = await send('WebDriver:FindElement', { using: 'css selector', value: `#${id}` })
      await send('WebDriver:ElementClick', { id: Object.values(Element.parse(element))[0] })
      await eventually(async () => {
        const url = String(await send('WebDriver:GetCurrentURL'))
        if (!url.endsWith(path)) throw new Error(`the link to ${path} led to ${url}`)
      })
    },
    reload: () => send('WebDriver:Refresh'),
    back: () => send('WebDriver:Back'),
    async openTab(url) {
      await enterTab()
      await send('WebDriver:Navigate', { url })
    },
    leave,
  }
}

const BROWSERS = { Chromium: openChromium, Firefox: openFirefox, WebKitGTK: openWebKit }

/** Opens one browser after another, and says which of them are not installed. */
export async function* openBrowsers(): AsyncGenerator<DrivenBrowser> {
  for (const [name, open] of Object.entries(BROWSERS)) {
    const browser = await open()
    if (browser === undefined) {
      console.log(`${name} is not installed: skipped`)
      continue
    }
    try {
      yield browser
    } finally {
      await browser.close()
    }
  }
}
