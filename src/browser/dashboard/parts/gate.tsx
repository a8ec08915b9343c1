import type { RuleState } from '../state/rules.js'

/** A barrier is a rule: its arm is down when the rule is on, dashed in rehearsal, raised when it is off. A word always stands beside it. */
export const Gate = ({ of }: { of: RuleState }) => (
  <svg class="gate" viewBox="0 0 18 14" aria-hidden="true">
    {of === 'off' ? (
      <path d="M2 4.5v9.5M2 6.500 11 .5" />
    ) : (
      <>
        <path d="M2 0v14" />
        <path d="M4.500 5h14" stroke-dasharray={of === 'rehearse' ? '2.8 2.4' : undefined} />
      </>
    )}
  </svg>
)
