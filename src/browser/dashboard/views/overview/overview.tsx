import { ReadershipChart } from '../../charts/readership-chart.js'
import { Later } from '../../parts/later.js'
import { Figures, Headline, metricOf } from '../../parts/numbers.js'
import { Sheet } from '../../parts/panel.js'
import type { Audience } from '../../state/address.js'
import { pickedMetrics, pickMetric } from '../../state/metrics.js'
import { audiences, usePair } from '../../state/question.js'
import { t } from '../../texts/index.js'
import { ChangesPanel } from './changes-panel.js'
import { FirstRun } from './first-run.js'
import { OverviewSentence } from './overview-sentence.js'
import { AgentPanels, PagePanels, PeoplePanels } from './panels.js'

const METRICS: Record<Audience, readonly string[]> = {
  human: ['visitors', 'sessions', 'pageviews', 'bounce'],
  agent: ['fetches', 'pageviews', 'verified', 'bytes'],
}

/** Both readerships at a glance. */
export default function Overview() {
  const totals = usePair('/api/stats/overview')
  const metrics = pickedMetrics({ human: 'visitors', agent: 'fetches' })
  const recorded = totals.human.meta?.recorded ?? totals.agent.meta?.recorded
  if (recorded !== undefined && recorded.since === undefined) return <FirstRun />
  return (
    <Sheet title={t().shell.view.overview}>
      <OverviewSentence totals={totals} />
      {audiences.value.map((of) => (
        <Figures key={of} of={of} loading={totals[of].loading}>
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
        </Figures>
      ))}
      <ReadershipChart metrics={metrics} label={t().overview.chart} />
      <Later>
        <ChangesPanel />
      </Later>
      <PagePanels />
      <Later>
        <AgentPanels />
        <PeoplePanels />
      </Later>
    </Sheet>
  )
}
