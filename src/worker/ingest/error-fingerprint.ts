import { createHash } from 'node:crypto'
import { MAX_CHARACTERS, truncate } from '../../base/text-limits.js'
import type { PageError } from '../../storage/rows.js'

/** At most this much of a message and of a frame is read: clients send them, and reading must stay cheap. */
const MAX_READ_CHARACTERS = { message: 2000, frame: 500 }
/** Replaces everything that varies between occurrences of one error. One placeholder, because a number may be hex next time. */
const PLACEHOLDER = '#'

/**
 * Returns the same 16 hex digits for equal errors: by type, message without its varying parts, and the function and file
 * at the top of the stack. Lines, columns and the hash in a bundle's name are left out, because each deploy changes them.
 */
export function errorFingerprint({ type, message, frame }: Omit<PageError, 'fingerprint'>): string {
  const name = type.slice(0, MAX_CHARACTERS.text)
  const place = frame === null ? null : stableFrame(frame.slice(0, MAX_READ_CHARACTERS.frame))
  const parts = [name, stableMessage(message.slice(0, MAX_READ_CHARACTERS.message), name), place]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16)
}

/** Browsers put this before a message from `window.onerror` or a rejected promise, and not elsewhere. */
const UNCAUGHT_PREFIX = /^uncaught (?:exception: )?(?:\(in promise\) ?)?/i

function stableMessage(message: string, type: string): string {
  const bare = message.trim().replace(UNCAUGHT_PREFIX, '')
  const withoutType = type !== '' && bare.startsWith(`${type}:`) ? bare.slice(type.length + 1) : bare
  const withoutQueries = withoutType.replace(URL_QUERY, (all, path: string) => (path.includes('/') ? path : all))
  const stable = REPLACEMENTS.reduce(
    (text, [pattern, replacement]) => text.replace(pattern, replacement),
    withoutQueries,
  )
  return truncate(stable.replace(/\s+/g, ' ').trim(), MAX_CHARACTERS.text)
}

/** The query and fragment of a URL or path; tried once a word. */
const URL_QUERY = /(?<![^\s?#"'`<>()])([^\s?#"'`<>()]+)[?#](?:[^\s"'`<>()]|\([^\s"'`<>()]*\))*/g

/** Applied in this order. No pattern can match one text in two ways, and `MAX_READ_CHARACTERS` bounds the attempts at each place. */
const REPLACEMENTS: readonly (readonly [RegExp, string])[] = [
  [/\bdata:[^\s"'`<>]+/gi, 'data:'],
  // Quoted values. An apostrophe stands between letters and is not a quote.
  ...[`""`, `''`, '``', '“”', '‘’', '«»', '„“'].map(
    ([open, close]) =>
      [
        new RegExp(`(?<![\\p{L}\\p{N}])${open}[^${open}${close}]*${close}(?![\\p{L}\\p{N}])`, 'gu'),
        `${open}${PLACEHOLDER}${close}`,
      ] as const,
  ),
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, PLACEHOLDER],
  [/\b0x[0-9a-f]+\b/gi, PLACEHOLDER],
  [/\b(?:(?=[a-f]*\d)[0-9a-f]{6,}|[0-9a-f]{8,})\b/gi, PLACEHOLDER],
  // Other ids: long, with letters and digits.
  [/\b(?=[a-z_]*\d)\w{20,}\b/gi, PLACEHOLDER],
  [/(?<![\p{L}\p{N}])-(?=\p{Nd})/gu, ''],
  [/\p{Nd}+(?:[.,]\p{Nd}+)*(?:e[+-]?\p{Nd}+)?/giu, PLACEHOLDER],
]

/** `at f (https://x/a.js:1:2)`, `f@https://x/a.js:1:2` or `https://x/a.js:1:2`: function, then file. */
const CHROME_FRAME = /^at (?:(?<f>[^()]*?) )?\(?(?<file>[^()\s]+)\)?$/
const FIREFOX_FRAME = /^(?<f>[^@:]*)@(?<file>.*)$/

/** Returns the function and file of a frame in the form that stays across deploys. */
function stableFrame(frame: string): string {
  const text = frame.trim()
  const { f = '', file = text } = (CHROME_FRAME.exec(text) ?? FIREFOX_FRAME.exec(text))?.groups ?? {}
  return truncate(`${functionName(f)} ${stableFile(file)}`.trim(), MAX_CHARACTERS.text)
}

/** Returns the last name in `Object.f`, `f/<`, `async f`, `f [as g]`; empty for names of a minifier, which change with each deploy. */
function functionName(text: string): string {
  const name =
    text
      .replace(/ \[as .*$/, '')
      .match(/[\p{L}_$][\p{L}\p{N}_$]*/gu)
      ?.at(-1) ?? ''
  return name.length > 2 && name !== 'anonymous' ? name : ''
}

const stableFile = (url: string): string =>
  url
    .replace(/(?::\d+){1,2}$/, '')
    .replace(/[?#].*$/s, '')
    .replace(/^https?:\/\/(?:www\.)?/i, '')
    .split('/')
    .map(stableSegment)
    .join('/')

/** Returns a path segment without the parts of a bundler, a version or an id: `app.3f9a1c.js`, `index-B-Y3z_kQ.js`, `4711`. */
const stableSegment = (name: string): string =>
  name
    .replace(/(?<=[.-])[\w-]{8}(?=\.\w+$)/, (part) => (isWord(part) ? part : PLACEHOLDER))
    .split(/(\W+)/)
    .map((part) =>
      part.length > 5 && /^\w/.test(part) && !isWord(part) ? PLACEHOLDER : part.replace(/\d+/g, PLACEHOLDER),
    )
    .join('')

/** Returns whether a person chose this name: words in one case or another, perhaps with a number after. Words in a hash are short. */
function isWord(text: string): boolean {
  if (!/^[a-z_-]+\d{0,2}$/i.test(text) || /^[0-9a-f]+$/i.test(text)) return false
  const words = text.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []
  return words.join('').length >= 3 * words.length
}
