import { ReadershipChart } from '../../charts/readership-chart.js'
import { Later } from '../../parts/later.js'
import { Mark } from '../../parts/marks.js'
import { Headline, metricOf } from '../../parts/numbers.js'
import { Sheet } from '../../parts/panel.js'
import { Lacking } from '../../parts/states.js'
import type { Audience } from '../../state/address.js'
import { pickedMetrics, pickMetric } from '../../state/metrics.js'
import { audiences, usePair } from '../../state/question.js'
import { t } from '../../texts/index.js'
import { AgentPanels } from './agent-panels.js'
import { FirstRun } from './first-run.js'
import { OverviewSentence } from './overview-sentence.js'
import { PagePanels } from './page-panels.js'
import { PeoplePanels } from './people-panels.js'

const METRICS: Record<Audience, readonly string[]> = {
  human: ['visitors', 'sessions', 'pageviews', 'bounce'],
  agent: ['fetches', 'pageviews', 'verified', 'bytes'],
}

/** Both readerships at a glance. */
export default function Overview() {
  const { shell } = t()
  const totals = usePair('/api/stats/overview')
  const metrics = pickedMetrics({ human: 'visitors', agent: 'fetches' })
  const recorded = totals.human.meta?.recorded ?? totals.agent.meta?.recorded
  if (recorded !== undefined && recorded.since === undefined) return <FirstRun />
  return (
    <Sheet title={t().shell.view.overview}>
      <OverviewSentence totals={totals} />
      {audiences.value.map((of) => (
        <section
          key={of}
          class={audiences.value.length === 2 ? 'cell half figures span-6' : 'cell half'}
          aria-busy={totals[of].loading}
        >
          <h2>
            <Mark of={of} />
            {shell.show[of]}
          </h2>
          <Lacking of={of} />
          <div class="numbers">
            {METRICS[of].map((metric, i) => (
              <Headline
                key={metric}
                of={of}
                metric={metric}
                big={i === 0}
                {...(of === 'agent' && metric === 'pageviews' ? { label: t().overview.pageReads } : {})}
                value={metricOf(totals[of].data, metric)}
                before={metricOf(totals[of].data?.comparison, metric)}
                picked={metrics[of] === metric}
                onPick={() => pickMetric(metrics, of, metric)}
              />
            ))}
          </div>
        </section>
      ))}
      <ReadershipChart metrics={metrics} label={t().overview.chart} />
      <PagePanels />
      <Later>
        <AgentPanels />
        <PeoplePanels />
      </Later>
    </Sheet>
  )
}
