import { t } from '../texts/index.js'
import { Icon } from './marks.js'

/** The class of fetches that robots.txt forbids, with their number. Only a breach has the colour of an accusation. */
export const SeverityTag = ({ of, count }: { of: string; count?: number }) => (
  <span class={of === 'breach' ? 'tag alert' : 'tag'} title={t().parts.severityMeaning[of]}>
    <Icon name="noEntry" />
    {count === undefined ? (t().parts.severity[of] ?? of) : t().agents.severityCount(of, count)}
  </span>
)

/** The verdict of the citation gap or of content decay. */
export const VerdictTag = ({ of }: { of: string }) => (
  <span class={of === 'gap' ? 'tag agents' : of === 'earning' ? 'tag people' : 'tag'}>
    {t().parts.verdict[of] ?? of}
  </span>
)

/** How many fetches of a page the robots.txt of their time disallowed. */
export const DisallowedTag = ({ count }: { count: number }) => (
  <span class="tag">
    <Icon name="noEntry" />
    {t().parts.disallowed(count)}
  </span>
)
