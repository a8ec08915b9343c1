import '../../styles/agents.css'
import { TabsLine } from '../../parts/agent-side.js'
import { PageLink } from '../../parts/names.js'
import { Panel, Sentence, Sheet } from '../../parts/panel.js'
import { Absent } from '../../parts/states.js'
import { place } from '../../state/address.js'
import { useRead } from '../../state/data.js'
import { formatInstant, formatNumber } from '../../state/format.js'
import { envelope } from '../../state/question.js'
import { t } from '../../texts/index.js'
import { LlmsFile } from './llms-file.js'
import { MayRead } from './may-read.js'
import { RobotsFile } from './robots-file.js'
import { Versions } from './versions.js'

/** Shows robots.txt and llms.txt, the agents that they let read a path, and how they changed. */
export default function Policy() {
  const texts = t().policy
  const { hostname, path, agent } = place.value.own
  // Filters do not change robots.txt.
  const ask = {
    ...envelope('agent'),
    compare: undefined,
    filters: undefined,
    segment: undefined,
    hostname: hostname || undefined,
  }
  const file = useRead('/api/policy', { ...ask, path: path?.startsWith('/') ? path : undefined })
  const one = useRead(
    '/api/policy',
    agent ? { ...ask, path: path?.startsWith('/') ? path : undefined, agent_id: agent } : undefined,
  )
  const robots = file.data?.robots
  const hostnames = file.data?.hostnames ?? []
  const decided = agent ? one.data?.agents[0] : undefined
  return (
    <Sheet title={t().shell.view.policy}>
      <Sentence answers={[file]}>
        {() => {
          const agents = file.data?.agents ?? []
          const kept = agents.filter(({ allowed }) => !allowed).length
          if (robots === undefined) return texts.sentenceNone
          if (robots.standing !== 'served') return texts.sentenceStanding(robots.standing)
          return texts.sentence(
            formatInstant(robots.first_seen),
            formatNumber(robots.groups.reduce((sum, { rules }) => sum + rules.length, 0)),
            formatNumber(robots.groups.length),
            formatNumber(kept),
            formatNumber(agents.length),
            <PageLink path={file.data?.path ?? '/'} />,
          )
        }}
      </Sentence>
      {hostnames.length > 1 && (
        <div class="cell">
          <TabsLine
            name="hostname"
            label={texts.hostname}
            tabs={hostnames.slice(0, 12).map((name) => [name, name] as const)}
          />
        </div>
      )}
      <MayRead all={file} one={one} />
      <Panel
        span={5}
        title="robots.txt"
        aside={robots && texts.fetched(formatInstant(robots.fetched_at))}
        answers={[file]}
        empty={robots === undefined}
        emptyText={texts.noneYet}
        skeleton={8}
      >
        {() =>
          robots &&
          (robots.standing === 'served' ? (
            <RobotsFile file={robots} {...(decided?.line === undefined ? {} : { line: decided.line })} />
          ) : (
            <Absent>{texts.standing(robots.standing, robots.status, robots.reason)}</Absent>
          ))
        }
      </Panel>
      <Versions hostname={hostname || file.data?.hostname} />
      <LlmsFile file={file} />
    </Sheet>
  )
}
