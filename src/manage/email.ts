import { z } from 'zod'
import { asciiHostname } from '../base/hostname.js'

/** Matches the part before the @ that needs no quotes (RFC 5321). Quoted forms are rejected: they are not in use, and quotes break mail headers. */
const LOCAL_PART = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/
const HOST_LABELS = /^(?!-)[a-z0-9-]+(?<!-)(\.(?!-)[a-z0-9-]+(?<!-))*$/

function normaliseEmail(text: string): string | undefined {
  const lower = text.trim().toLowerCase()
  const at = lower.lastIndexOf('@')
  const local = lower.slice(0, Math.max(at, 0))
  const host = asciiHostname(lower.slice(at + 1))
  if (host === undefined || !LOCAL_PART.test(local) || local.length > 64 || !HOST_LABELS.test(host)) return undefined
  const email = `${local}@${host}`
  return email.length > 254 ? undefined : email
}

/**
 * Accepts an e-mail address and returns it as it is stored and compared: trimmed, lower case, ASCII. An international
 * hostname takes its `xn--` form, which cannot be mistaken for another.
 */
export const Email = z
  .string()
  .max(1_000, 'This is not a valid e-mail address.')
  .transform((text, context) => {
    const email = normaliseEmail(text)
    if (email === undefined) context.addIssue('This is not a valid e-mail address.')
    return email ?? ''
  })
