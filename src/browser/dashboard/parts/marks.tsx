import type { Audience } from '../state/address.js'

interface MarkKeyProps {
  words: Readonly<Record<Audience, string>>
  of?: readonly Audience[]
}

/** The mark of a readership: a circle for people, a diamond for agents. A word always stands beside it. */
export const Mark = ({ of }: { of: Audience }) => (
  <span class={of === 'human' ? 'person-mark' : 'agent-mark'} aria-hidden="true" />
)

/** The key of a chart's marks: the words for each readership. */
export const MarkKey = ({ words, of = ['human', 'agent'] }: MarkKeyProps) =>
  of.map((each) => (
    <span key={each}>
      <Mark of={each} />
      {words[each]}
    </span>
  ))

export const BothMarks = () => (
  <span class="both-marks">
    <Mark of="human" />
    <Mark of="agent" />
  </span>
)

export const Logo = () => (
  <svg width="24" height="20" viewBox="0 0 24 20" aria-hidden="true">
    <path d="M11 4.2C8.6 2.6 5.6 2 1.5 2v13.6c4.1 0 7.1.6 9.5 2.2z" fill="var(--people)" />
    <path
      d="M13 4.2c2.4-1.6 5.4-2.2 9.5-2.2v13.6c-4.1 0-7.1.6-9.5 2.2z"
      fill="none"
      stroke="var(--agents)"
      stroke-width="2"
      stroke-linejoin="round"
    />
  </svg>
)

const SHAPES = {
  share: 'M7 8.500v-7M4.500 4 7 1.500 9.500 4M3 6.500v5A1 1 0 0 0 4 12.500h6a1 1 0 0 0 1-1v-5',
  globe: 'M1.5 7a5.5 5.5 0 1 0 11 0 5.5 5.5 0 1 0-11 0M1.5 7h11M7 1.5c2 2 2 9 0 11M7 1.5c-2 2-2 9 0 11',
  down: 'm4 5.5 3 3 3-3',
  right: 'm5.5 4 3 3-3 3',
  calendar:
    'M3 2.5h8A1.5 1.5 0 0 1 12.5 4v7a1.5 1.5 0 0 1-1.5 1.5H3A1.5 1.5 0 0 1 1.5 11V4A1.5 1.5 0 0 1 3 2.5M1.500 5.500h11M4.500 1v3M9.500 1v3',
  search: 'M1.700 6a4.300 4.300 0 1 0 8.600 0 4.300 4.300 0 1 0-8.600 0m7.600 3.300 3.200 3.200',
  plus: 'M7 3v8M3 7h8',
  close: 'm4 4 6 6M10 4l-6 6',
  check: 'm3 7.500 3 3 5-7',
  noEntry: 'M2 7a5 5 0 1 0 10 0 5 5 0 1 0-10 0m1.600 3.200 6.800-6.400',
  bars: 'M2 11V7M7 11V3M12 11V6',
  pulse: 'M1.500 7h3l1.500-4 2.500 8L10 7h2.500',
  page: 'M3 1.500h5.500L11 4v8.500H3z',
  diamond: 'm7 1.500 5.500 5.500L7 12.500 1.500 7z',
  menu: 'M2 3.500h10M2 7h10M2 10.500h10',
  half: 'M2 7a5 5 0 1 0 10 0 5 5 0 1 0-10 0M7 2v10a5 5 0 0 0 0-10z',
  gate: 'M3 1.500v11M5.500 5.500h7',
  pencil: 'M9.500 2.500l2 2-7 7-2.500.500.500-2.500z',
}

/** A small drawing beside a word; it says nothing by itself. */
export const Icon = ({ name }: { name: keyof typeof SHAPES }) => (
  <svg class="icon" viewBox="0 0 14 14" aria-hidden="true">
    <path d={SHAPES[name]} />
  </svg>
)
