import { formatShare } from '../state/format.js'
import { t } from '../texts/index.js'

interface Identity {
  verified?: number | undefined
  spoofed?: number | undefined
  /** Fetches whose check is not finished, or that could not be checked although there is a way. */
  indeterminate?: number | undefined
}

/** Says whether an agent's fetches are its own: the verified share of those that could be judged, and how many are spoofed. */
export function IdentityText({ of: { verified, spoofed = 0, indeterminate = 0 } }: { of: Identity }) {
  const texts = t().agents
  if (verified === undefined)
    return <span class="muted small">? {indeterminate > 0 ? texts.notChecked : texts.cannotVerify}</span>
  return (
    <span class="wraps">
      <span class="no-wrap">
        <span class="agents" aria-hidden="true">
          ✓
        </span>{' '}
        {formatShare(verified)} <span class="muted">{texts.verified}</span>
      </span>{' '}
      {spoofed > 0 && <span class="alert small no-wrap">✕ {texts.spoofed(spoofed)}</span>}
    </span>
  )
}
