import { t } from '../texts/index.js'
import { Cut } from './names.js'

interface Decided {
  rule?: string | undefined
  line?: number | undefined
  /** Whether the rule allows; rules of violations never do. */
  allowed?: boolean
}

/** The line of robots.txt that decided, with its number, as it is written. */
export function DecidingLine({ of: { rule, line, allowed = false } }: { of: Decided }) {
  if (rule === undefined) return <span class="muted small">{allowed ? t().agents.noRule : t().agents.everything}</span>
  return (
    <span class="mono deciding">
      <span class="muted">{line}</span>
      <Cut text={`${allowed ? 'Allow' : 'Disallow'}: ${rule}`} />
    </span>
  )
}
