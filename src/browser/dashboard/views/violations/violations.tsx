import '../../styles/agents.css'
import type { DataOf } from '../../client/index.js'
import { AgentsLeftOut, showsAgents } from '../../parts/agent-side.js'
import { Meanings } from '../../parts/meanings.js'
import { Panel, Sentence, Sheet } from '../../parts/panel.js'
import { Absent } from '../../parts/states.js'
import { SeverityTag } from '../../parts/tags.js'
import { go, hrefTo, place } from '../../state/address.js'
import type { Result } from '../../state/data.js'
import { formatNumber, formatShare } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { useOne } from '../../state/question.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'
import { ViolationList } from './violation-list.js'

const SEVERITIES = ['breach', 'unbound', 'unclear', 'unverified', 'grace'] as const

/** Shows the URLs that agents fetched although the robots.txt of that moment forbade it, by how serious it is. */
export default function Violations() {
  const summary = useOne('/api/policy/violations/agents', 'agent', { compare: undefined, limit: 1000 })
  return (
    <Sheet title={t().violations.title}>
      {place.value.show === 'human' ? (
        <div class="cell">
          <Absent of="human">{t().violations.people}</Absent>
        </div>
      ) : (
        <ViolationSentence summary={summary} />
      )}
      <AgentsLeftOut />
      {showsAgents() && <Classes summary={summary} />}
      {showsAgents() && <ViolationList />}
    </Sheet>
  )
}

type Rows = DataOf<'/api/policy/violations/agents'>

const sum = (rows: Rows, severity?: string): number =>
  rows.reduce((n, row) => (severity === undefined || row.severity === severity ? n + row.fetches : n), 0)

function ViolationSentence({ summary }: { summary: Result<'/api/policy/violations/agents'> }) {
  const { violations: texts, agents } = t()
  const totals = useOne('/api/agents/overview', 'agent', { compare: undefined })
  return (
    <Sentence answers={[summary]}>
      {() => {
        const rows = summary.data ?? []
        const fetches = sum(rows)
        if (fetches === 0) return texts.sentenceNone(whenText())
        const breaches = sum(rows, 'breach')
        const many = new Set(rows.map(({ agent_id }) => agent_id)).size
        const all = totals.data?.fetches ?? 0
        const disallowed = quantity('/api/policy/violations/agents fetches', fetches, (text) => (
          <a href={hrefTo({ own: { by: 'all' } })}>{text}</a>
        ))
        return [
          ...texts.sentence(
            whenText(),
            disallowed,
            all === 0 ? '–' : formatShare(fetches / all),
            quantity('/api/policy/violations/agents agent_id', many),
          ),
          ...(breaches === 0
            ? [texts.noBreach]
            : texts.breaches(
                <a class="alert" href={hrefTo({ own: { severity: 'breach' } })}>
                  {agents.severityCount('breach', breaches)}
                </a>,
              )),
        ]
      }}
    </Sentence>
  )
}

/** How many fetches are of each class, their share, and what the class means; a click keeps one class. */
function Classes({ summary }: { summary: Result<'/api/policy/violations/agents'> }) {
  const texts = t().violations
  const { own } = place.value
  const rows = summary.data ?? []
  const all = sum(rows)
  return (
    <Panel title={texts.classes} answers={[summary]} skeleton={5}>
      {() => (
        <Meanings
          rows={SEVERITIES.map((severity) => {
            const fetches = sum(rows, severity)
            const isPicked = own.severity === severity
            return {
              key: severity,
              tag: (
                <button
                  type="button"
                  aria-pressed={isPicked}
                  onClick={() => go({ own: { ...own, severity: isPicked ? '' : severity, page: '' } })}
                >
                  <SeverityTag of={severity} />
                </button>
              ),
              count: formatNumber(fetches),
              text: `${all > 0 && fetches > 0 ? `${texts.share(formatShare(fetches / all))}. ` : ''}${t().parts.severityMeaning[severity] ?? ''}`,
            }
          })}
        />
      )}
    </Panel>
  )
}
