import { useFew } from '../../parts/buttons.js'
import { changingColumns, countColumn } from '../../parts/columns.js'
import { Icon } from '../../parts/marks.js'
import { Cut, More, RowName } from '../../parts/names.js'
import { Panel } from '../../parts/panel.js'
import { Absent } from '../../parts/states.js'
import { Table } from '../../parts/table.js'
import { SeverityTag } from '../../parts/tags.js'
import { viewPath } from '../../state/address.js'
import { formatAgo, formatInstant } from '../../state/format.js'
import { t } from '../../texts/index.js'
import type { PageAgent, useAgentsOfPage } from './agents-of-page.js'

const FEW = 8

/** Each agent that read the page, whether it may, by which line, and what it read while it might not. */
export function PageAgents({ agents }: { agents: ReturnType<typeof useAgentsOfPage> }) {
  const texts = t().pages.may
  const { rows, policy } = agents
  const [shown, button] = useFew(rows, FEW)
  const robots = policy?.robots
  const others = (policy?.agents ?? []).filter(({ agent_id }) => !rows.some(({ id }) => id === agent_id))
  const disallowed = others.filter(({ allowed }) => !allowed).length
  return (
    <Panel
      class="agents-of-page"
      title={<span id="agents-of-page">{texts.title}</span>}
      aside={robots?.standing === 'served' ? texts.since(formatInstant(robots.first_seen)) : undefined}
      right={<More to="policy">{t().shell.view.policy}</More>}
      answers={agents.answers}
      empty={rows.length === 0}
      emptyText={texts.none}
      skeleton={FEW}
      foot={
        <>
          {others.length > 0 && texts.unfetched(others.length, disallowed)} {texts.now}
        </>
      }
    >
      {() => (
        <>
          {robots && texts.standing[robots.standing] && <Absent>{texts.standing[robots.standing]}</Absent>}
          <AgentTable rows={shown} />
          {button}
        </>
      )}
    </Panel>
  )
}

function AgentTable({ rows }: { rows: readonly PageAgent[] }) {
  const texts = t().pages.may
  return (
    <Table
      label={texts.title}
      rows={rows}
      rowKey={({ id }) => id}
      columns={[
        {
          key: 'agent',
          head: t().agents.agent,
          cell: ({ id, name, operator }) => (
            <span class="row-name">
              <RowName label={name} filter={['agent_id', id]} to={viewPath('agents', id)} />
              {operator && !operator.startsWith(name) && (
                <span class="muted small wide">
                  <Cut text={operator} />
                </span>
              )}
            </span>
          ),
        },
        { key: 'may', head: t().policy.may, width: '84px', cell: ({ policy }) => <May policy={policy} /> },
        {
          key: 'line',
          head: t().agents.decidingLine,
          width: '24%',
          wide: true,
          cell: ({ policy }) => <DecidingLine policy={policy} />,
        },
        {
          key: 'last',
          head: t().agents.lastRead,
          width: '110px',
          right: true,
          wide: true,
          cell: ({ lastSeen }) => <span class="muted no-wrap">{formatAgo(lastSeen)}</span>,
        },
        ...changingColumns('fetches', { width: '72px', changeWidth: '84px' }),
        {
          key: 'severity',
          head: <span class="visually-hidden">{texts.severity}</span>,
          width: '132px',
          right: true,
          wide: true,
          cell: ({ severity }) => severity && <SeverityTag of={severity} />,
        },
        countColumn('disallowed', { width: '112px' }, t().policy.whileDisallowed),
      ]}
    />
  )
}

function May({ policy }: { policy: PageAgent['policy'] }) {
  const texts = t().pages.may
  if (!policy) return <span class="muted">{texts.unknown}</span>
  return (
    <span class={policy.allowed ? 'may' : 'may not'}>
      <Icon name={policy.allowed ? 'check' : 'close'} />
      {policy.allowed ? t().shell.yes : t().shell.no}
    </span>
  )
}

function DecidingLine({ policy }: { policy: PageAgent['policy'] }) {
  if (policy?.rule === undefined) return <span class="muted small">{policy ? t().pages.may.noRule : ''}</span>
  return (
    <span class="mono deciding">
      {policy.line !== undefined && <span class="muted">{policy.line}</span>}
      <Cut text={`${policy.allowed ? 'Allow' : 'Disallow'}: ${policy.rule}`} />
    </span>
  )
}
