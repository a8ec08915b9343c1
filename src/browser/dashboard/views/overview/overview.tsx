import { useEffect } from 'preact/hooks'
import { ReadershipChart } from '../../charts/readership-chart.js'
import { Code } from '../../parts/dialogs.js'
import { Later } from '../../parts/later.js'
import { OutLink } from '../../parts/names.js'
import { Figures, Headline, metricOf } from '../../parts/numbers.js'
import { Sheet } from '../../parts/panel.js'
import type { Audience } from '../../state/address.js'
import { forget } from '../../state/data.js'
import { pickedMetrics, pickMetric } from '../../state/metrics.js'
import { audiences, usePair } from '../../state/question.js'
import { scriptTag, siteAddress } from '../../state/session.js'
import { whileVisible } from '../../state/visible.js'
import { t } from '../../texts/index.js'
import { ChangesPanel } from './changes-panel.js'
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

/** The first minutes: how to make the first visit and the first fetch. Fills by itself. */
function FirstRun() {
  const { empty } = t().overview
  const address = siteAddress() ?? 'https://www.example.com/'
  useEffect(() => whileVisible(3_000, () => forget('/api/stats/overview')), [])
  return (
    <>
      <h1 class="title">{empty.title}</h1>
      <p class="muted first-run">{empty.text}</p>
      <div class="sheet">
        <section class="cell">
          <h2>{empty.asPerson}</h2>
          <p class="muted">{empty.asPersonText}</p>
          <p class="title-line">
            <OutLink href={address}>{address}</OutLink>
            <span class="pulse" />
            <span class="muted">{empty.waiting}</span>
          </p>
        </section>
        <section class="cell">
          <h2>{empty.asAgent}</h2>
          <p class="muted">{empty.asAgentText}</p>
          <Code text={`curl -A "GPTBot/1.3" ${address}`} />
        </section>
        <section class="cell">
          <h2>{empty.script}</h2>
          <p class="muted">{empty.scriptText}</p>
          <Code text={scriptTag()} />
        </section>
      </div>
    </>
  )
}
