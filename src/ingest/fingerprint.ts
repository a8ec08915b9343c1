import { createHash } from 'node:crypto'
import { CAPS, cap } from '../capture/caps.js'
import type { ErrorSeen } from '../rows.js'

/** So much of a message is looked at, and of a frame: what a stranger sends may not cost more. */
const READ = { message: 2000, frame: 500 }
/** Whatever varies between two occurrences of one error: a number today may be hex tomorrow, so all look alike. */
const VARIES = '#'

/**
 * The same 16 hex digits for errors that are the same: by type, message without what varies in it, and the function and
 * file at the top of the stack. Lines and columns are left out, and the hash in a bundle's name: each deploy moves them.
 */
export function fingerprintOf({ type, message, frame }: Omit<ErrorSeen, 'fingerprint'>): string {
  const name = type.slice(0, CAPS.text)
  const place = frame === null ? null : placeOf(frame.slice(0, READ.frame))
  const parts = [name, messageOf(message.slice(0, READ.message), name), place]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)
}

/** Browsers put these before the message where it comes from `window.onerror` or a rejected promise, and not else. */
const UNCAUGHT = /^uncaught (?:exception: )?(?:\(in promise\) ?)?/i

function messageOf(message: string, type: string): string {
  const bare = message.trim().replace(UNCAUGHT, '')
  const own = type !== '' && bare.startsWith(`${type}:`) ? bare.slice(type.length + 1) : bare
  const unasked = own.replace(QUERY, (all, path: string) => (path.includes('/') ? path : all))
  const steady = STEADY.reduce((text, [what, becomes]) => text.replace(what, becomes), unasked)
  return cap(steady.replace(/\s+/g, ' ').trim(), CAPS.text)
}

/** A URL's or path's query and fragment; tried once a word. */
const QUERY = /(?<![^\s?#"'`<>()])([^\s?#"'`<>()]+)[?#](?:[^\s"'`<>()]|\([^\s"'`<>()]*\))*/g

/** In this order. No pattern can match one text in two ways, and `READ` bounds what is tried at each place. */
const STEADY: readonly (readonly [RegExp, string])[] = [
  [/\bdata:[^\s"'`<>]+/gi, 'data:'],
  // Quoted values; an apostrophe is between letters.
  ...[`""`, `''`, '``', '“”', '‘’', '«»', '„“'].map(
    ([open, close]) =>
      [
        new RegExp(`(?<![\\p{L}\\p{N}])${open}[^${open}${close}]*${close}(?![\\p{L}\\p{N}])`, 'gu'),
        `${open}${VARIES}${close}`,
      ] as const,
  ),
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, VARIES],
  [/\b0x[0-9a-f]+\b/gi, VARIES],
  [/\b(?:(?=[a-f]*\d)[0-9a-f]{6,}|[0-9a-f]{8,})\b/gi, VARIES],
  // Other ids: long, of letters and digits.
  [/\b(?=[a-z_]*\d)\w{20,}\b/gi, VARIES],
  [/(?<![\p{L}\p{N}])-(?=\p{Nd})/gu, ''],
  [/\p{Nd}+(?:[.,]\p{Nd}+)*(?:e[+-]?\p{Nd}+)?/giu, VARIES],
]

/** `at f (https://x/a.js:1:2)`, `f@https://x/a.js:1:2` or `https://x/a.js:1:2`: function, then file. */
const CHROME = /^at (?:(?<f>[^()]*?) )?\(?(?<file>[^()\s]+)\)?$/
const FIREFOX = /^(?<f>[^@:]*)@(?<file>.*)$/

/** Function and file of a frame, as they stay across deploys. */
function placeOf(frame: string): string {
  const text = frame.trim()
  const { f = '', file = text } = (CHROME.exec(text) ?? FIREFOX.exec(text))?.groups ?? {}
  return cap(`${functionOf(f)} ${fileOf(file)}`.trim(), CAPS.text)
}

/** The last name of `Object.f`, `f/<`, `async f`, `f [as g]`; one that a minifier made is another in each deploy. */
function functionOf(text: string): string {
  const name =
    text
      .replace(/ \[as .*$/, '')
      .match(/[\p{L}_$][\p{L}\p{N}_$]*/gu)
      ?.at(-1) ?? ''
  return name.length > 2 && name !== 'anonymous' ? name : ''
}

const fileOf = (url: string): string =>
  url
    .replace(/(?::\d+){1,2}$/, '')
    .replace(/[?#].*$/s, '')
    .replace(/^https?:\/\/(?:www\.)?/i, '')
    .split('/')
    .map(steadyName)
    .join('/')

/** A part of a path without what a bundler, a version or an id put into it: `app.3f9a1c.js`, `index-B-Y3z_kQ.js`, `4711`. */
const steadyName = (name: string): string =>
  name
    .replace(/(?<=[.-])[\w-]{8}(?=\.\w+$)/, (part) => (isWord(part) ? part : VARIES))
    .split(/(\W+)/)
    .map((part) => (part.length > 5 && /^\w/.test(part) && !isWord(part) ? VARIES : part.replace(/\d+/g, VARIES)))
    .join('')

/** What someone named something: words in one case or another, perhaps a number behind. A hash has them short. */
function isWord(text: string): boolean {
  if (!/^[a-z_-]+\d{0,2}$/i.test(text) || /^[0-9a-f]+$/i.test(text)) return false
  const words = text.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []
  return words.join('').length >= 3 * words.length
}
