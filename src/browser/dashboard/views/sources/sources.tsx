import { ExportMenu } from '../../charts/export-menu.js'
import type { DataOf } from '../../client/index.js'
import { aiVisitsFoot } from '../../parts/filter-name.js'
import { MeasuresPanel, RankedPanel } from '../../parts/list-panel.js'
import type { MeasuredRow } from '../../parts/measures.js'
import { More } from '../../parts/names.js'
import { Sentence } from '../../parts/panel.js'
import { PeopleOnly } from '../../parts/people-only.js'
import { place } from '../../state/address.js'
import type { Result } from '../../state/data.js'
import { addFilter, filtersWith } from '../../state/filters.js'
import { formatShare } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { useOne } from '../../state/question.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'

type Sourced = Result<'/api/stats/sources'>
type Source = Required<DataOf<'/api/stats/sources'>>['sources'][number]

const ASSISTANTS = 'AI Assistants'
const METRICS = ['sessions', 'visitors', 'pageviews', 'bounce', 'duration']
const SPAM = { dimension: 'referrer_spam', op: 'is', value: true } as const

const channelName = (channel: string): string => t().parts.channel[channel] ?? channel

/** Origins of visits: channels, sources, AI assistants, campaigns. Agents have no source. */
export default function Sources() {
  const texts = t().sources
  const isPeople = place.value.show !== 'agent'
  const answer = useOne('/api/stats/sources', 'human', { limit: 100 }, isPeople)
  return (
    <PeopleOnly
      title={t().shell.view.sources}
      why={texts.agents}
      instead={['agents', 'citation-gap']}
      agentsBy="operator"
    >
      {() => (
        <>
          <SourcesSentence answer={answer} />
          <Channels answer={answer} />
          <Assistants answer={answer} />
          <SourceList answer={answer} />
          <Campaigns answer={answer} />
        </>
      )}
    </PeopleOnly>
  )
}

function SourcesSentence({ answer }: { answer: Sourced }) {
  const texts = t().sources
  return (
    <Sentence answers={[answer]}>
      {() => {
        const channels = answer.data?.channels ?? []
        const total = channels.reduce((sum, { sessions = 0 }) => sum + sessions, 0)
        const [best] = channels.toSorted((a, b) => (b.sessions ?? 0) - (a.sessions ?? 0))
        if (!best || total === 0) return texts.none(whenText())
        const visits = (n: number) =>
          quantity('/api/stats/sources sessions', n, (text) => <span class="people">{text}</span>)
        const sent = channels.find(({ channel }) => channel === ASSISTANTS)?.sessions ?? 0
        const first = answer.data?.sources?.find(({ channel, source }) => channel === ASSISTANTS && source)?.source
        const share = formatShare((best.sessions ?? 0) / total)
        return [
          ...texts.sentence(whenText(), visits(total), channelName(best.channel), share),
          ...(sent > 0 && first
            ? texts.assistants(visits(sent), formatShare(sent / total), <b>{first.slice(0, 80)}</b>)
            : [texts.noAssistants]),
        ]
      }}
    </Sentence>
  )
}

function Channels({ answer }: { answer: Sourced }) {
  const texts = t().sources
  const rows = (answer.data?.channels ?? []).map(
    (row): MeasuredRow => ({
      key: row.channel,
      label: channelName(row.channel),
      filter: ['channel', row.channel],
      values: row,
    }),
  )
  return (
    <MeasuresPanel
      span={8}
      title={texts.channels}
      right={<ExportMenu report="sources" picture={false} />}
      answer={answer}
      emptyText={texts.sourcesNone}
      skeleton={8}
      lacking="human"
      head={texts.channel}
      rows={rows}
      metrics={['sessions', 'bounce', 'duration']}
    />
  )
}

const sourceRow = (row: Source): MeasuredRow => ({
  key: `${row.channel} ${row.source ?? ''}`,
  label: row.source ?? t().sources.direct,
  aside: row.source === undefined ? undefined : channelName(row.channel),
  filter: row.source === undefined ? ['channel', row.channel] : ['source', row.source],
  values: row,
})

function Assistants({ answer }: { answer: Sourced }) {
  const texts = t().sources
  const rows = (answer.data?.sources ?? []).filter(({ channel }) => channel === ASSISTANTS)
  return (
    <RankedPanel
      span={4}
      title={texts.assistantsTitle}
      right={<More to="citation-gap">{t().shell.view['citation-gap']}</More>}
      answer={answer}
      emptyText={t().overview.aiNone}
      foot={rows.length > 0 && aiVisitsFoot()}
      of="human"
      metric="sessions"
      rows={rows.map((row) => {
        const { key, label, filter } = sourceRow(row)
        return { key, label, value: row.sessions, before: row.comparison?.sessions, ...(filter ? { filter } : {}) }
      })}
    />
  )
}

function SourceList({ answer }: { answer: Sourced }) {
  const texts = t().sources
  const spam = useOne('/api/stats/overview', 'human', { filters: filtersWith(SPAM), compare: undefined })
  const visitors = spam.data?.visitors ?? 0
  const rows = (answer.data?.sources ?? []).filter(({ channel }) => channel !== ASSISTANTS)
  return (
    <MeasuresPanel
      title={t().shell.view.sources}
      answer={answer}
      emptyText={texts.sourcesNone}
      foot={
        visitors > 0 && (
          <>
            {texts.spam(quantity('/api/stats/overview visitors', visitors))}{' '}
            <button type="button" class="link" onClick={() => addFilter(SPAM)}>
              {texts.spamShow}
            </button>
          </>
        )
      }
      head={texts.source}
      rows={rows.map(sourceRow)}
      metrics={METRICS}
    />
  )
}

function Campaigns({ answer }: { answer: Sourced }) {
  const texts = t().sources
  const rows = (answer.data?.campaigns ?? []).map(
    (row): MeasuredRow => ({
      key: JSON.stringify([row.utm_campaign, row.utm_source, row.utm_medium]),
      label: row.utm_campaign,
      aside: [row.utm_source, row.utm_medium].filter(Boolean).join(' · ').slice(0, 60),
      filter: ['utm_campaign', row.utm_campaign],
      values: row,
    }),
  )
  return (
    <MeasuresPanel
      title={texts.campaigns}
      answer={answer}
      emptyText={texts.campaignsNone}
      head={texts.campaign}
      rows={rows}
      metrics={METRICS}
    />
  )
}
