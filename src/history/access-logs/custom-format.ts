import { UnusableSetting } from '../../base/errors.js'
import { suggestName } from '../../base/nearest-name.js'
import { LOG_FORMATS } from './formats.js'
import type { LogFormat } from './log-format.js'
import { strftimeElements } from './strftime.js'
import {
  createTemplateFormat,
  formatFault,
  READ,
  readDurationIn,
  readHeader,
  type Slot,
  type TemplateElement,
} from './template.js'

/**
 * Makes a format of a name (`combined`), or of the text of nginx's `log_format`, Apache's `LogFormat` or GoAccess's
 * `log-format`, with or without the directive around it. Throws `UnusableSetting`, which names the place of the fault.
 */
export function compileLogFormat(text: string): LogFormat {
  const name = text.trim().toLowerCase()
  const known = LOG_FORMATS.find((format) => format.name === name)
  if (known) return known
  const bare = withoutDirective(text.trim())
  if (/\$\{?[a-z]/i.test(bare)) return createTemplateFormat(nginxElements(bare))
  if (!bare.includes('%')) {
    const names = LOG_FORMATS.map((format) => format.name)
    throw new UnusableSetting(
      `log format: ${JSON.stringify(text)} is neither a name nor has it $variables or %fields${suggestName(name, names, `; names are ${names.join(', ')}`)}`,
    )
  }
  return createTemplateFormat(isApache(bare) ? apacheElements(bare) : goAccessElements(bare))
}

/** The format of a directive as configurations write it: in quotes, over several lines, with escaped quotes. */
function withoutDirective(text: string): string {
  const nginx = /^(?:log_format\s+\S+\s+(?:escape=\w+\s+)?)?((?:'[^']*'\s*|"[^"]*"\s*)+);?$/.exec(text)
  if (nginx?.[1] !== undefined && text.includes('$'))
    return [...nginx[1].matchAll(/'([^']*)'|"([^"]*)"/g)].map((match) => match[1] ?? match[2]).join('')
  const apache = /^(?:LogFormat\s+)?"((?:[^"\\]|\\.)*)"\s*\w*$/i.exec(text)
  const bare = apache?.[1] ?? text.replace(/^log[-_]format\s+/i, '')
  return bare.replace(/\\(["'\\t])/g, (_, character: string) => (character === 't' ? '\t' : character))
}

/** GoAccess has fields for the date alone and for anything; Apache has names in braces, and the identity (`%l`). */
const isApache = (text: string): boolean => /%[<>!\d]|%\{|%l/.test(text) || !/%[\^dx~]/.test(text)

const NGINX_VARIABLES: Readonly<Record<string, Pick<Slot, 'read' | 'isList' | 'endsBefore'>>> = {
  remote_addr: { read: READ.address },
  time_local: { read: READ.timeText },
  time_iso8601: { read: READ.timeText },
  msec: { read: READ.timeText },
  request: { read: READ.request },
  request_method: { read: READ.method },
  request_uri: { read: READ.target },
  uri: { read: READ.target },
  document_uri: { read: READ.target },
  args: { read: READ.query },
  query_string: { read: READ.query },
  status: { read: READ.status },
  body_bytes_sent: { read: READ.bytes },
  bytes_sent: { read: READ.bytes },
  request_time: { read: readDurationIn(1000) },
  host: { read: READ.host },
  server_name: { read: READ.host },
  sent_http_content_type: { read: READ.contentType },
}

function nginxElements(text: string): TemplateElement[] {
  const elements: TemplateElement[] = []
  // Means the path with its query.
  const source = text.replace(/\$uri\$is_args\$(?:args|query_string)/g, '$request_uri')
  let end = 0
  for (const match of source.matchAll(/\$\{?(\w+)\}?/g)) {
    elements.push(source.slice(end, match.index))
    end = match.index + match[0].length
    const name = match[1] ?? ''
    const header = /^http_(\w+)$/.exec(name)?.[1]?.replaceAll('_', '-')
    const slot = NGINX_VARIABLES[name] ?? {
      read: header === undefined ? READ.ignore : readHeader(header),
      isList: header === 'x-forwarded-for' || name.startsWith('upstream_'),
    }
    // As in `$scheme://$host$request_uri`.
    const beforePath = source.startsWith('$request_uri', end) || source.startsWith('$uri', end)
    elements.push({ ...slot, source: match[0], at: match.index, ...(beforePath && { endsBefore: '/' }) })
  }
  return [...elements, source.slice(end)]
}

const APACHE_FIELDS: Readonly<Record<string, Slot['read']>> = {
  a: READ.address,
  h: READ.address,
  r: READ.request,
  m: READ.method,
  U: READ.target,
  q: READ.query,
  s: READ.status,
  b: READ.bytesOrDash,
  B: READ.bytes,
  O: READ.bytes,
  v: READ.host,
  V: READ.host,
  D: readDurationIn(0.001),
  T: readDurationIn(1000),
}

function apacheElements(text: string): TemplateElement[] {
  const elements: TemplateElement[] = []
  // Means the path with its query, which begins with its question mark.
  const source = text.replaceAll('%U%q', '%U')
  let end = 0
  for (const match of source.matchAll(/%(?:[<>!,\d]*)(?:\{([^}]*)\})?(\^\w\w|[A-Za-z%])?/g)) {
    elements.push(source.slice(end, match.index))
    end = match.index + match[0].length
    const [whole, name = '', letter] = match
    const place = { source: whole, at: match.index }
    if (letter === undefined) throw formatFault(place, 'is not a field of Apache')
    if (letter === '%') elements.push('%')
    else if (letter === 't') elements.push(...apacheTime(name, place))
    else if (letter === 'i') elements.push({ ...place, read: readHeader(name) })
    else if (letter === 'o' && /^content-type$/i.test(name)) elements.push({ ...place, read: READ.contentType })
    else if (letter === 'T') elements.push({ ...place, read: readDurationIn(APACHE_UNITS[name] ?? 1000) })
    else elements.push({ ...place, read: APACHE_FIELDS[letter] ?? READ.ignore })
  }
  return [...elements, source.slice(end)]
}
const APACHE_UNITS: Readonly<Record<string, number>> = { ms: 1, us: 0.001 }

function apacheTime(name: string, place: { source: string; at: number }): TemplateElement[] {
  const format = name.replace(/^(?:begin|end):/, '')
  if (format === '') return ['[', { ...place, read: READ.timeText }, ']']
  if (format === 'sec' || format === 'msec' || format === 'usec') return [{ ...place, read: READ.timeText }]
  if (format === 'msec_frac' || format === 'usec_frac') {
    const width = format === 'msec_frac' ? 3 : 6
    return [{ ...place, width, read: (fields, text) => (fields.fraction = Math.floor(Number(`0.${text}`) * 1000)) }]
  }
  return strftimeElements(format, place.source, place.at)
}

const GOACCESS_FIELDS: Readonly<Record<string, Slot['read']>> = {
  x: READ.timeText,
  d: READ.date,
  t: READ.timeOfDay,
  v: READ.host,
  h: READ.address,
  r: READ.request,
  m: READ.method,
  U: READ.target,
  q: READ.query,
  s: READ.status,
  b: READ.bytes,
  R: READ.referrer,
  u: READ.userAgent,
  M: READ.contentType,
  D: readDurationIn(0.001),
  T: readDurationIn(1000),
  L: readDurationIn(1),
  n: readDurationIn(1e-6),
  // User, cache status, protocol, TLS.
  ...Object.fromEntries(['e', 'C', 'H', 'K', 'k', '^'].map((letter) => [letter, READ.ignore])),
}

function goAccessElements(text: string): TemplateElement[] {
  const elements: TemplateElement[] = []
  let end = 0
  let wasTime = false
  for (const match of text.matchAll(/~h\{([^}]*)\}|%(.?)/gs)) {
    const between = text.slice(end, match.index)
    elements.push(between)
    end = match.index + match[0].length
    const [source, delimiters, letter = ''] = match
    const place = { source, at: match.index }
    const read = GOACCESS_FIELDS[letter]
    if (delimiters !== undefined) elements.push({ ...place, delimiters, read: readFirstAddress(delimiters) })
    else if (letter === '%') elements.push('%')
    else if (letter === '^' && wasTime && between === ' ') elements.push({ ...place, read: READ.offsetIfAny })
    else if (read) elements.push({ ...place, read })
    else throw formatFault(place, 'is not a field of GoAccess')
    wasTime = letter === 't'
  }
  return [...elements, text.slice(end)]
}

/** GoAccess takes the first address of X-Forwarded-For. */
function readFirstAddress(delimiters: string): Slot['read'] {
  return (fields, text) => {
    let address = ''
    for (const character of text) {
      if (!delimiters.includes(character)) address += character
      else if (address !== '') break
    }
    fields.address = address
  }
}
