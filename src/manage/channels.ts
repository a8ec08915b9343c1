import { z } from 'zod'
import { Email } from './email.js'

/** An address that a webhook is sent to. What it resolves to is looked at when it is asked. */
const WebhookUrl = z
  .string()
  .max(2_000, 'A webhook has at most 2000 characters.')
  .transform((text, context) => {
    const url = URL.canParse(text) ? new URL(text) : undefined
    if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.hash) return url.href
    context.addIssue('A webhook is an http or https URL, without user, password and #.')
    return z.NEVER
  })

/** Where an alert is sent. */
export const Channel = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('webhook'), target: WebhookUrl }),
    z.strictObject({ type: z.literal('email'), target: Email }),
  ])
  .describe('`target` is the URL of a webhook or an e-mail address.')

/** The same as it is kept and shown. */
export const StoredChannel = z.object({ type: z.enum(['webhook', 'email']), target: z.string() })
export type Channel = z.output<typeof StoredChannel>

export const isSameChannel = (a: Channel, b: Channel): boolean => a.type === b.type && a.target === b.target
