import type { DataOf } from '../../client/index.js'
import { Mark } from '../../parts/marks.js'
import { More } from '../../parts/names.js'
import { changeText } from '../../parts/numbers.js'
import { Panel } from '../../parts/panel.js'
import { NoChange, Warnings } from '../../parts/states.js'
import { VerdictTag } from '../../parts/tags.js'
import type { Audience } from '../../state/address.js'
import { unrecordedComparison } from '../../state/comparison.js'
import { useRead } from '../../state/data.js'
import { formatNumber, formatShare } from '../../state/format.js'
import { mixedEnvelope, obstacle } from '../../state/question.js'
import { t } from '../../texts/index.js'

type Row = DataOf<'/api/content/decay'>[number]

/** Whether the page loses people while agents go on reading it. A filter that one readership lacks leaves nothing to compare. */
export function PageDecay({ filters }: { filters: string }) {
  const texts = t().decay
  const isComparable = obstacle('human') === undefined && obstacle('agent') === undefined
  const answer = useRead('/api/content/decay', isComparable ? { ...mixedEnvelope(), filters, limit: 20 } : undefined)
  const rows = answer.data ?? []
  if (!isComparable) return null
  const hasBefore = unrecordedComparison(answer.meta) === undefined
  return (
    <Panel
      title={texts.title}
      aside={texts.against}
      right={<More to="decay">{t().overview.allPages}</More>}
      answers={[answer]}
      empty={rows.length === 0}
      emptyText={t().pages.decayNone}
      skeleton={3}
    >
      {() => (
        <>
          {rows.map((row) => (
            <div class="page-decay" key={row.hostname}>
              <p>
                <VerdictTag of={row.verdict} /> {rows.length > 1 && <b>{row.hostname}</b>}{' '}
                <span class="muted">{texts.meaning[row.verdict]}</span>
              </p>
              <div class="two">
                <Side
                  of="human"
                  name={texts.people}
                  counts={row.people}
                  adjusted={hasBefore ? row.people.adjusted : undefined}
                  hasBefore={hasBefore}
                />
                <Side of="agent" name={texts.agents} counts={row.agents} hasBefore={hasBefore} />
              </div>
            </div>
          ))}
          <NoChange of={[answer.meta]} />
          <Warnings of={[answer.meta]} />
        </>
      )}
    </Panel>
  )
}

interface SideProps {
  of: Audience
  name: string
  counts: Row['agents']
  adjusted?: number | undefined
  /** Whether the time before is recorded: otherwise its number is not 0, but unknown. */
  hasBefore: boolean
}

function Side({ of, name, counts: { before, now }, adjusted, hasBefore }: SideProps) {
  return (
    <p>
      <Mark of={of} /> {name}{' '}
      <b>
        {hasBefore && `${formatNumber(before)} → `}
        {formatNumber(now)}
      </b>{' '}
      <span class="muted">
        {hasBefore && changeText('pageviews', now, before)}
        {adjusted !== undefined &&
          ` · ${t().decay.adjusted}: ${adjusted > 0 ? '▲' : adjusted < 0 ? '▼' : ''} ${formatShare(Math.abs(adjusted))}`}
      </span>
    </p>
  )
}
