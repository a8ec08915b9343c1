import { Ranked } from '../../parts/lists.js'
import { More } from '../../parts/names.js'
import { Panel } from '../../parts/panel.js'
import { Warnings } from '../../parts/states.js'
import { viewPath } from '../../state/address.js'
import { useRead } from '../../state/data.js'
import { formatNumber } from '../../state/format.js'
import { mixedEnvelope } from '../../state/question.js'
import { t } from '../../texts/index.js'

/** The people whom the assistants of one operator sent, by the page where they arrived. */
export function PeopleSent({ operator }: { operator: string }) {
  const texts = t().agents
  const ask = { ...mixedEnvelope(), operator }
  const total = useRead('/api/citation-gap/summary', ask)
  const answer = useRead('/api/citation-gap', { ...ask, limit: 200 })
  const rows = (answer.data ?? []).filter(({ arrivals }) => arrivals > 0).sort((a, b) => b.arrivals - a.arrivals)
  const arrivals = total.data?.arrivals ?? 0
  const reads = total.data?.fetches ?? 0
  return (
    <Panel
      title={texts.peopleSent(operator)}
      aside={total.data && t().parts.people(arrivals, formatNumber(arrivals))}
      right={<More to="citation-gap">{t().shell.view['citation-gap']}</More>}
      answers={[answer]}
      empty={rows.length === 0}
      emptyText={texts.peopleSentNone(operator)}
      foot={
        arrivals > 0 &&
        reads > 0 &&
        texts.readsPerPerson(operator, formatNumber(reads), formatNumber(reads / arrivals, 1))
      }
    >
      {() => (
        <>
          <Ranked
            of="human"
            metric="sessions"
            rows={rows.slice(0, 8).map(({ hostname, pathname, arrivals: n }) => ({
              key: hostname + pathname,
              label: pathname,
              value: n,
              filter: ['pathname', pathname],
              to: viewPath('pages', pathname),
            }))}
          />
          <Warnings of={[answer.meta]} />
        </>
      )}
    </Panel>
  )
}
