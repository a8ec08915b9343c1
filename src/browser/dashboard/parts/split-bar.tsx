import { t } from '../texts/index.js'

interface Shares {
  verified_fetches?: number | undefined
  spoofed?: number | undefined
  fetches?: number | undefined
}

/** One bar of fetches by identity: verified filled, spoofed striped, the rest outlined. `most` is the longest bar's total. */
export function SplitBar({ of, most }: { of: Shares; most: number }) {
  const total = of.fetches ?? 0
  const [verified, spoofed] = [of.verified_fetches ?? 0, of.spoofed ?? 0]
  const rest = Math.max(0, total - verified - spoofed)
  const scale = (n: number) => (n / Math.max(1, most)) * 100
  const at = { spoofed: scale(verified), rest: scale(verified + spoofed) }
  return (
    <svg class="split" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect width={scale(verified)} height="10" fill="var(--agents)" />
      {spoofed > 0 && (
        <rect
          x={at.spoofed}
          width={Math.max(0.6, scale(spoofed))}
          height="10"
          fill="url(#stripes)"
          stroke="var(--alert)"
          stroke-width="0.3"
        />
      )}
      {rest > 0 && (
        <rect
          x={at.rest}
          y="0.5"
          width={Math.max(0.6, scale(rest))}
          height="9"
          fill="none"
          stroke="var(--line)"
          stroke-width="1"
          vector-effect="non-scaling-stroke"
        />
      )}
    </svg>
  )
}

/** The key of `SplitBar`. */
export function SplitKey() {
  const { verification } = t().parts
  const one = {
    verified: { verified_fetches: 1, fetches: 1 },
    spoofed: { spoofed: 1, fetches: 1 },
    unverifiable: { fetches: 1 },
  }
  return (
    <p class="legend foot">
      {(['verified', 'spoofed', 'unverifiable'] as const).map((kind) => (
        <span key={kind}>
          <span style={{ width: '14px' }}>
            <SplitBar of={one[kind]} most={1} />
          </span>
          {verification[kind]}
        </span>
      ))}
    </p>
  )
}

/** Patterns that charts fill with; drawn once per page. */
export const Patterns = () => (
  <svg width="0" height="0" style={{ position: 'absolute' }} aria-hidden="true">
    <defs>
      <pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <path d="M0 0v5" stroke="var(--line)" stroke-opacity=".6" />
      </pattern>
      <pattern id="stripes" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <path d="M0 0v4" stroke="var(--alert)" stroke-width="4" />
      </pattern>
      <linearGradient id="people-area" x1="0" y1="0" x2="0" y2="1">
        <stop stop-color="var(--people)" stop-opacity=".26" />
        <stop offset="1" stop-color="var(--people)" stop-opacity=".05" />
      </linearGradient>
    </defs>
  </svg>
)
