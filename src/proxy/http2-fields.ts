/**
 * Fields that Node's HTTP/2 refuses to send twice, though the protocol carries them and origins do send them so (a server
 * and the application behind it both say `nosniff`). Which of several counts is what browsers make of them over HTTP/1.1.
 */
const SINGLE_VALUE_FIELDS: ReadonlyMap<string, 'first' | 'last' | 'joined'> = new Map([
  ...'access-control-max-age access-control-request-method age authorization content-length content-location'
    .concat(' content-md5 content-range date dnt etag expires from host if-match if-modified-since if-none-match')
    .concat(' if-range if-unmodified-since last-modified location max-forwards proxy-authorization range referer')
    .concat(' retry-after tk upgrade-insecure-requests user-agent x-content-type-options')
    .split(' ')
    .map((name): [string, 'first'] => [name, 'first']),
  // The last that can be read (Fetch, "extract a MIME type").
  ['content-type', 'last'],
  // Lists: each coding was put on (RFC 9110 8.4). Credentials that are allowed twice are not allowed (Fetch 4.9).
  ['content-encoding', 'joined'],
  ['content-language', 'joined'],
  ['access-control-allow-credentials', 'joined'],
])

/** Name, value, name, value in the form that Node's HTTP/2 takes: lower-case names, the values of each in order. */
export function toHttp2Fields(fields: readonly string[]): Record<string, string | string[]> {
  const groups: Record<string, string | string[]> = Object.create(null)
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = (fields[i] ?? '').toLowerCase()
    const value = fields[i + 1] ?? ''
    const before = groups[name]
    // There is nothing to upgrade to (RFC 9113 8.6), whatever a 426 asks for.
    if (name === 'upgrade') continue
    if (before === undefined) groups[name] = value
    else if (Array.isArray(before)) before.push(value)
    else {
      const which = SINGLE_VALUE_FIELDS.get(name)
      if (which === undefined) groups[name] = [before, value]
      else if (which === 'last') groups[name] = value
      else if (which === 'joined') groups[name] = `${before}, ${value}`
    }
  }
  return groups
}
