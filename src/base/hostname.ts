import { domainToASCII } from 'node:url'

/**
 * Returns the hostname in ASCII and lower case, as requests carry it. Returns undefined if the text has a scheme, port or
 * path, or is not a hostname.
 */
export function asciiHostname(text: string): string | undefined {
  // Node reads a path after these characters, and drops tabs and line breaks.
  if (/[/?#\\\s]/.test(text)) return undefined
  const ascii = domainToASCII(text)
  return ascii === '' || /[^a-z0-9._-]/.test(ascii) ? undefined : ascii
}
