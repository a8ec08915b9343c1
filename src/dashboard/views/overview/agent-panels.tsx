import { Dumbbell, GapAxis } from '../../charts/dumbbell.js'
import { Mark } from '../../parts/marks.js'
import { PageName, RowName } from '../../parts/names.js'
import { Panel } from '../../parts/panel.js'
import { SplitBar, SplitKey } from '../../parts/split-bar.js'
import { Table } from '../../parts/table.js'
import { VerdictTag } from '../../parts/tags.js'
import { hrefTo, place, viewPath } from '../../state/address.js'
import { formatNumber, formatRatio, formatShare } from '../../state/format.js'
import { useOne } from '../../state/question.js'
import { t } from '../../texts/index.js'

/** Agents by operator, and the citation gap. */
export function AgentPanels() {
  const isBoth = place.value.show === 'both'
  return (
    <>
      {place.value.show !== 'human' && <Operators span={isBoth ? 6 : 12} />}
      <Gap span={isBoth ? 6 : 12} />
    </>
  )
}

function Operators({ span }: { span: 6 | 12 }) {
  const texts = t().overview
  const answer = useOne('/api/agents/overview', 'agent', { compare: undefined })
  const rows = (answer.data?.operators ?? []).slice(0, 8)
  const most = Math.max(...rows.map(({ fetches }) => fetches ?? 0), 1)
  return (
    <Panel
      span={span}
      title={texts.operators}
      right={
        <a class="more" href={hrefTo({ path: viewPath('agents') })}>
          {texts.allAgents}
        </a>
      }
      answers={[answer]}
      empty={rows.length === 0}
    >
      {() => (
        <>
          <Table
            label={texts.operators}
            rows={rows}
            rowKey={({ operator }) => operator}
            columns={[
              {
                key: 'operator',
                head: texts.operator,
                cell: ({ operator }) => <RowName label={operator} filter={['operator', operator]} />,
              },
              {
                key: 'fetches',
                head: t().parts.metric.fetches,
                right: true,
                width: '18%',
                cell: ({ fetches }) => formatNumber(fetches ?? 0),
              },
              { key: 'identity', head: texts.identity, width: '36%', cell: (row) => <SplitBar of={row} most={most} /> },
              {
                key: 'verified',
                head: t().parts.metric.verified,
                right: true,
                width: '20%',
                cell: ({ verified }) =>
                  verified === undefined ? <span class="muted small">{texts.notKnown}</span> : formatShare(verified),
              },
            ]}
          />
          <SplitKey />
        </>
      )}
    </Panel>
  )
}

function Gap({ span }: { span: 6 | 12 }) {
  const texts = t().overview
  const answer = useOne('/api/citation-gap', 'agent', { compare: undefined, limit: 8 })
  const rows = answer.data ?? []
  const most = Math.max(...rows.flatMap(({ fetches, arrivals }) => [fetches, arrivals]), 10)
  return (
    <Panel
      span={span}
      title={texts.gap}
      right={
        <a class="more" href={hrefTo({ path: viewPath('citation-gap') })}>
          {texts.allPages}
        </a>
      }
      answers={[answer]}
      empty={rows.length === 0}
    >
      {() => (
        <>
          <Table
            label={texts.gap}
            rows={rows}
            rowKey={({ hostname, pathname }) => hostname + pathname}
            columns={[
              {
                key: 'page',
                head: texts.page,
                cell: ({ pathname }) => <PageName path={pathname} />,
              },
              {
                key: 'gap',
                head: <GapAxis most={most} label={`${texts.arrived}, ${texts.readBy}`} />,
                width: '34%',
                cell: ({ fetches, arrivals }) => <Dumbbell people={arrivals} agents={fetches} most={most} />,
              },
              {
                key: 'ratio',
                head: texts.perArrival,
                right: true,
                wide: true,
                width: '17%',
                cell: ({ ratio, arrivals, fetches }) =>
                  ratio === undefined ? (
                    <span class="muted">{arrivals === 0 ? texts.noArrivals : fetches === 0 ? texts.noReads : '–'}</span>
                  ) : (
                    formatRatio(ratio)
                  ),
              },
              { key: 'verdict', head: texts.verdict, width: '18%', cell: ({ verdict }) => <VerdictTag of={verdict} /> },
            ]}
          />
          <p class="legend foot">
            <span>
              <Mark of="human" />
              {texts.arrived}
            </span>
            <span>
              <Mark of="agent" />
              {texts.readBy}
            </span>
          </p>
        </>
      )}
    </Panel>
  )
}
