import { domainToASCII } from 'node:url'

/** A hostname as requests have it: ASCII, lower case. Undefined for what has a scheme, port or path, or is none. */
export function asciiHostname(text: string): string | undefined {
  const ascii = domainToASCII(text)
  return ascii === '' || /[^a-z0-9._-]/.test(ascii) ? undefined : ascii
}
