import { z } from 'zod'
import { Email } from './email.js'

/** Accepts the URL of a webhook. The address it resolves to is checked when it is called. */
const WebhookUrl = z
  .string()
  .max(2_000, 'A webhook URL has at most 2000 characters.')
  .transform((text, context) => {
    const url = URL.canParse(text) ? new URL(text) : undefined
    if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.hash) return url.href
    context.addIssue('A webhook must be an http(s) URL without user, password and fragment.')
    return z.NEVER
  })

/** A recipient of alerts. */
export const Channel = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('webhook'), target: WebhookUrl }),
    z.strictObject({ type: z.literal('email'), target: Email }),
  ])
  .describe('`target` is the URL of a webhook or an e-mail address.')

/** A channel as it is stored and shown. */
export const StoredChannel = z.object({ type: z.enum(['webhook', 'email']), target: z.string() })
export type Channel = z.output<typeof StoredChannel>

export const isSameChannel = (a: Channel, b: Channel): boolean => a.type === b.type && a.target === b.target
