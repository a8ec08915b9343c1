import { RankedPanel } from '../../parts/list-panel.js'
import { formatNumber } from '../../state/format.js'
import { useOne } from '../../state/question.js'
import { t } from '../../texts/index.js'

/** The people whom AI assistants sent, by assistant. `operator` keeps the assistants of one operator. */
export function AssistantsPanel() {
  const texts = t().agents
  const answer = useOne('/api/stats/sources', 'human', { compare: undefined, limit: 200 })
  const rows = (answer.data?.sources ?? []).filter(({ channel }) => channel === 'AI Assistants')
  return (
    <RankedPanel
      title={t().overview.aiSources}
      aside={t().overview.sessions}
      answer={answer}
      empty={rows.length === 0 && answer.data !== undefined}
      emptyText={t().overview.aiNone}
      foot={t().overview.aiFoot}
      lacking="human"
      of="human"
      metric="sessions"
      rows={rows.map(({ source = t().parts.unknown, sessions, visitors }) => ({
        label: source,
        value: sessions,
        aside: texts.visitors(visitors ?? 0, formatNumber(visitors ?? 0)),
        filter: ['source', source],
      }))}
    />
  )
}
