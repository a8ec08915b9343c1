import type { DataOf } from '../../client/index.js'
import { useFew } from '../../parts/buttons.js'
import { DecidingLine } from '../../parts/deciding-line.js'
import { RowName } from '../../parts/names.js'
import { Panel } from '../../parts/panel.js'
import { Absent, Failed } from '../../parts/states.js'
import { Table } from '../../parts/table.js'
import { SeverityTag } from '../../parts/tags.js'
import { go, place, viewPath } from '../../state/address.js'
import type { Result } from '../../state/data.js'
import { formatNumber } from '../../state/format.js'
import { t } from '../../texts/index.js'

/** The rights of one agent; its fetches of the path are known only where the server counts them. */
type Agent = DataOf<'/api/policy'>['agents'][number] & {
  name?: string
  seen?: { fetches: number; disallowed: number; severity?: string }
}

const FEW = 12

/** Asks whether an agent may read a path, and lists every agent's answer with the line that decides. */
export function MayRead({ all, one }: { all: Result<'/api/policy'>; one: Result<'/api/policy'> }) {
  const texts = t().policy
  const { own } = place.value
  const reads = (agent: Agent) => agent.seen?.fetches ?? 0
  const listed: readonly Agent[] = all.data?.agents ?? []
  const agents = [...listed].sort((a, b) => reads(b) - reads(a))
  const [shown, button] = useFew(agents, FEW)
  const send = (event: SubmitEvent) => {
    event.preventDefault()
    if (!(event.currentTarget instanceof HTMLFormElement)) return
    const fields = new FormData(event.currentTarget)
    const path = `${fields.get('path')}`.trim()
    go({
      own: {
        ...own,
        agent: `${fields.get('agent')}`.trim(),
        path: path === '' || path.startsWith('/') ? path : `/${path}`,
      },
    })
  }
  return (
    <Panel span={7} title={texts.mayTitle} answers={[all]} skeleton={10} foot={texts.mayFoot}>
      {() => (
        <>
          <form class="field-line" onSubmit={send}>
            <label class="field">
              <span>{texts.agent}</span>
              <input
                name="agent"
                list="policy-agents"
                defaultValue={own.agent ?? ''}
                placeholder="GPTBot"
                maxLength={200}
              />
            </label>
            <datalist id="policy-agents">
              {agents.map(({ agent_id, name }) => (
                <option key={agent_id} value={name ?? agent_id} />
              ))}
            </datalist>
            <label class="field">
              <span>{t().agents.path}</span>
              <input name="path" defaultValue={own.path ?? ''} placeholder="/" maxLength={2000} />
            </label>
            <button type="submit" class="button">
              {texts.ask}
            </button>
          </form>
          {own.agent && <Answer one={one} asked={own.agent} />}
          <AgentTable agents={shown} />
          {button}
        </>
      )}
    </Panel>
  )
}

/** The answer about the agent that was typed in. */
function Answer({ one, asked }: { one: Result<'/api/policy'>; asked: string }) {
  const texts = t().policy
  if (one.problem && one.data === undefined) return <Failed problem={one.problem} retry={one.retry} />
  const agent: Agent | undefined = one.data?.agents[0]
  if (one.data === undefined) return null
  if (agent === undefined) return <Absent>{texts.unknownAgent(asked.slice(0, 100))}</Absent>
  return (
    <div class="may-answer" role="status">
      <p class="lead">
        {agent.allowed ? '✓ ' : '✕ '}
        {texts.answer(agent.name ?? agent.agent_id, one.data.path.slice(0, 120), agent.allowed)}
      </p>
      <p>
        {agent.rule === undefined ? (
          <span class="muted">{texts.reason[agent.reason] ?? agent.reason}</span>
        ) : (
          <DecidingLine of={agent} />
        )}
      </p>
      <p class="muted small">{agent.group.length > 0 && texts.group(agent.group.join(', '))}</p>
    </div>
  )
}

function AgentTable({ agents }: { agents: readonly Agent[] }) {
  const texts = t().policy
  const hasReads = place.value.show !== 'human' && agents.some(({ seen }) => seen !== undefined)
  return (
    <Table
      label={texts.mayTitle}
      rows={agents}
      rowKey={({ agent_id }) => agent_id}
      columns={[
        {
          key: 'agent',
          head: t().agents.agent,
          cell: ({ agent_id, name }) => (
            <RowName label={name ?? agent_id} filter={['agent_id', agent_id]} to={viewPath('agents', agent_id)} />
          ),
        },
        {
          key: 'may',
          head: texts.may,
          width: '14%',
          cell: ({ allowed }) => (allowed ? `✓ ${t().shell.yes}` : <b>✕ {t().shell.no}</b>),
        },
        {
          key: 'line',
          head: t().agents.decidingLine,
          width: '30%',
          cell: (agent) =>
            agent.rule === undefined ? (
              <span class="muted small">{texts.reason[agent.reason] ?? agent.reason}</span>
            ) : (
              <DecidingLine of={agent} />
            ),
        },
        ...(hasReads
          ? [
              {
                key: 'reads',
                head: t().overview.pageReads,
                right: true,
                width: '10%',
                cell: ({ seen }: Agent) => (seen ? formatNumber(seen.fetches) : <span class="muted">0</span>),
              },
              {
                key: 'forbidden',
                head: texts.whileDisallowed,
                right: true,
                wide: true,
                width: '21%',
                cell: ({ seen }: Agent) =>
                  seen?.severity ? (
                    <SeverityTag of={seen.severity} count={seen.disallowed} />
                  ) : (
                    <span class="muted">0</span>
                  ),
              },
            ]
          : []),
      ]}
    />
  )
}
