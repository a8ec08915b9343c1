export interface RequestLine {
  method: string
  target: string
  host?: string
}

/** Takes a request line apart, `GET /a?b HTTP/1.1`. Method and target are empty if the text is not one. */
export function splitRequest(text: string): RequestLine {
  const space = text.indexOf(' ')
  if (space <= 0) return NO_REQUEST
  const method = text.slice(0, space)
  const end = text.lastIndexOf(' HTTP/')
  const target = (end < space ? text.slice(space + 1) : text.slice(space + 1, end)).trim()
  // Other protocols have words too; HTTP/0.9 has no version, and always a path.
  if (!isMethod(method) || (end < space && !target.startsWith('/'))) return NO_REQUEST
  return { method, ...splitTarget(target) }
}
const NO_REQUEST: RequestLine = { method: '', target: '' }

/** Separates the host of an absolute-form target (RFC 9112 3.2.2), or of CONNECT, from the path. */
export function splitTarget(target: string): { target: string; host?: string } {
  if (target.startsWith('/') || target === '') return { target }
  const absolute = ABSOLUTE_FORM.exec(target)
  if (absolute) {
    const host = hostOf(absolute[1] ?? '')
    return {
      target: absolute[2]?.startsWith('/') ? absolute[2] : `/${absolute[2] ?? ''}`,
      ...(host !== undefined && { host }),
    }
  }
  return { target }
}
const ABSOLUTE_FORM = /^[a-z]+:\/\/([^/?#]*)(.*)$/is

/** Longer ones are refused by servers; RFC 9110 9.1 allows more characters, no method in use has them. */
export const isMethod = (text: string) => /^[A-Za-z][\w-]{0,31}$/.test(text)

/** The hostname of `host[:port]` in lower case; undefined for `-`, `_` (nginx's name of no host) and nothing. */
export function hostOf(text: string): string | undefined {
  const end = text.lastIndexOf(':')
  const bare = end > 0 && end > text.lastIndexOf(']') ? text.slice(0, end) : text
  const host = bare.slice(bare.lastIndexOf('@') + 1).toLowerCase()
  return host === '' || host === '-' || host === '_' ? undefined : host
}
