import { z } from 'zod'
import { asciiHostname } from '../hostname.js'

/** What RFC 5321 lets stand before the @ without quotes; no other form is in use, and quotes are what headers break on. */
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
 * An e-mail address as it is stored and compared: trimmed, lower case, ASCII. A hostname of other letters is so in the
 * form in which it cannot be taken for another (`xn--`).
 */
export const Email = z
  .string()
  .max(1_000, 'That is no e-mail address.')
  .transform((text, context) => {
    const email = normaliseEmail(text)
    if (email === undefined) context.addIssue('That is no e-mail address.')
    return email ?? ''
  })
