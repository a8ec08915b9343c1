import { z } from 'zod'
import type { Window } from '../../analytics/query/calendar.js'
import { METRIC_INFO } from '../../analytics/query/metrics.js'
import { ALERT_KINDS, ALERT_OPERATORS, type Alert } from '../alerts.js'
import type { WithId } from '../collection.js'
import type { MailMessage } from './mail-message.js'
import type { Measurement } from './measure.js'
import { sanitiseLine } from './sanitise.js'

/** The body of a webhook, beside its `id`. */
export const AlertEvent = z.object({
  event: z.enum(['fired', 'resolved', 'test']),
  at: z.iso.datetime(),
  site: z.object({ id: z.int(), name: z.string() }),
  alert: z.object({
    id: z.int(),
    name: z.string(),
    kind: z.enum(ALERT_KINDS),
    metric: z.string().optional(),
    audience: z.string(),
    filters: z.array(z.unknown()),
    op: z.enum(ALERT_OPERATORS),
    value: z.number(),
    window_minutes: z.int(),
  }),
  window: z.object({ start: z.iso.datetime(), end: z.iso.datetime() }),
  /** The measured value that was compared with the alert's limit; absent in a test. */
  value: z.number().optional(),
  /** For kind `change`: the metric in the window and in the one before. */
  now: z.number().optional(),
  before: z.number().optional(),
  details: z.array(z.record(z.string(), z.unknown())),
})
export type AlertEvent = z.output<typeof AlertEvent>

export function createAlertEvent(
  event: AlertEvent['event'],
  { alert, site, window, at }: { alert: WithId<Alert>; site: { id: number; name: string }; window: Window; at: Date },
  measured: Measurement = { details: [] },
): AlertEvent {
  const { id, name, kind, metric, audience, filters, op, value, window_minutes } = alert
  return {
    event,
    at: at.toISOString(),
    site: { id: site.id, name: site.name },
    alert: {
      id,
      name,
      kind,
      audience,
      filters: [...filters],
      op,
      value,
      window_minutes,
      ...(metric === undefined ? {} : { metric }),
    },
    window: { start: window.start.toISOString(), end: window.end.toISOString() },
    ...measured,
    details: measured.details.map((row) => ({ ...row })),
  }
}

const SUBJECT = { fired: 'Alert', resolved: 'Resolved', test: 'Test' } as const
const OPERATOR_WORDS = { gt: 'more than', gte: 'at least', lt: 'less than', lte: 'at most' } as const
const KIND_DESCRIPTIONS = {
  new_agent: 'agents never seen before',
  unverified_agent: 'fetches with a spoofed agent name',
  policy_violation: 'fetches that robots.txt disallowed',
  policy_changed: 'new versions of robots.txt or llms.txt',
  agent_errors: 'agent fetches with a status of 400 or more',
  budget: "cost of agents' fetches at the site's prices",
  old_edition: 'days in which an operator that sends readers has not read a changed page',
} as const
const AUDIENCE_NAMES: Readonly<Record<string, string>> = { human: 'people', agent: 'agents', all: 'people and agents' }

const formatMinute = (instant: string): string => `${instant.slice(0, 10)} ${instant.slice(11, 16)}`

/** Returns an event as a mail. */
export function alertMail(event: AlertEvent, to: string, key: string): MailMessage {
  const { alert, site, window } = event
  const format = valueFormatter(alert)
  const measured = event.value === undefined ? [] : [`Value: ${format(event.value)}${describeComparison(event)}.`]
  return {
    to,
    key,
    subject: sanitiseLine(`${SUBJECT[event.event]}: ${alert.name} (${site.name})`, 200),
    text: [
      ...(event.event === 'test' ? ['This is a test message: nothing has happened.', ''] : []),
      event.event === 'resolved'
        ? `The alert "${alert.name}" for ${site.name} has been resolved.`
        : `The alert "${alert.name}" for ${site.name} has fired.`,
      '',
      `Condition: ${describeCondition(alert)}: ${OPERATOR_WORDS[alert.op]} ${format(alert.value)} in ${alert.window_minutes} minutes.`,
      ...measured,
      `Window: ${formatMinute(window.start)} to ${formatMinute(window.end)} UTC.`,
      ...(event.details.length > 0 ? ['', ...event.details.map((row) => `- ${formatDetail(row)}`)] : []),
      '',
      `You receive this mail because your address is a channel of alert ${alert.id} of ${site.name}.`,
      '',
    ].join('\n'),
  }
}

function describeCondition({ kind, metric, audience }: AlertEvent['alert']): string {
  if (kind === 'threshold') return `${metric} of ${AUDIENCE_NAMES[audience]}`
  if (kind === 'change') return `change of ${metric} of ${AUDIENCE_NAMES[audience]} against the window before`
  if (kind === 'budget' && metric === 'bytes') return "bytes of agents' fetches"
  return KIND_DESCRIPTIONS[kind]
}

const NUMBER = new Intl.NumberFormat('en-US', { maximumFractionDigits: 3 })
const SHARE = new Intl.NumberFormat('en-US', { style: 'percent', maximumFractionDigits: 1 })
const CHANGE = new Intl.NumberFormat('en-US', { style: 'percent', maximumFractionDigits: 1, signDisplay: 'exceptZero' })

const metrics = new Map<string, { type: string }>(Object.entries(METRIC_INFO))
const metricFormat = (metric: string | undefined) => (metrics.get(metric ?? '')?.type === 'share' ? SHARE : NUMBER)
const valueFormatter =
  ({ kind, metric }: AlertEvent['alert']) =>
  (value: number): string =>
    (kind === 'change' ? CHANGE : metricFormat(metric)).format(value)

function describeComparison({ now, before, alert }: AlertEvent): string {
  if (now === undefined || before === undefined) return ''
  const { format } = metricFormat(alert.metric)
  return `: ${format(now)} after ${format(before)}`
}

const formatDetail = (row: Readonly<Record<string, unknown>>): string =>
  Object.entries(row)
    .map(([name, value]) => `${name} ${sanitiseLine(String(value))}`)
    .join(', ')
