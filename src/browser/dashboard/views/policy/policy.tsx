import '../../styles/agents.css'
import type { DataOf } from '../../client/index.js'
import { TabsLine } from '../../parts/agent-side.js'
import { textColumn } from '../../parts/columns.js'
import { Cut, OutLink, PageLink } from '../../parts/names.js'
import { Panel, Sentence, Sheet } from '../../parts/panel.js'
import { Absent } from '../../parts/states.js'
import { Table } from '../../parts/table.js'
import { place } from '../../state/address.js'
import type { Result } from '../../state/data.js'
import { useRead } from '../../state/data.js'
import { formatInstant } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { envelope } from '../../state/question.js'
import { t } from '../../texts/index.js'
import { MayRead } from './may-read.js'
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
            robots.groups.reduce((sum, { rules }) => sum + rules.length, 0),
            robots.groups.length,
            kept,
            quantity('/api/policy agents', agents.length),
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

type Robots = NonNullable<DataOf<'/api/policy'>['robots']>

/** The robots.txt as readership parsed it: groups and rules with their line numbers; `line` is highlighted. */
function RobotsFile({ file, line }: { file: Robots; line?: number }) {
  const texts = t().policy
  return (
    <>
      {file.groups.length === 0 && <p class="muted">{texts.noGroups}</p>}
      {file.groups.map((group) => (
        <ol class="rules" key={group.line}>
          {group.user_agents.map((agent, i) => (
            <Rule key={agent} line={i === 0 ? group.line : undefined} text={`User-agent: ${agent}`} strong />
          ))}
          {group.rules.map((rule) => (
            <Rule
              key={rule.line}
              line={rule.line}
              text={`${rule.allow ? 'Allow' : 'Disallow'}: ${rule.pattern}`}
              marked={rule.line === line}
            />
          ))}
          {group.crawl_delay !== undefined && <Rule text={`Crawl-delay: ${group.crawl_delay}`} />}
          {group.content_signals && (
            <Rule
              text={`Content-Signal: ${Object.entries(group.content_signals)
                .map(([name, value]) => `${name}=${value}`)
                .join(', ')}`}
            />
          )}
        </ol>
      ))}
      {file.truncated && <p class="foot">{texts.truncated}</p>}
      {file.problems.length > 0 && (
        <>
          <h3>{texts.problems}</h3>
          <ol class="rules">
            {file.problems.slice(0, 50).map(({ line: at, problem }) => (
              <Rule key={`${at} ${problem}`} line={at} text={problem} />
            ))}
          </ol>
        </>
      )}
      {file.licenses.length > 0 && (
        <p class="foot sitemaps">
          {texts.licenses}:{' '}
          {file.licenses.slice(0, 20).map(({ url, line: at }) => (
            <OutLink key={at} href={url}>
              {url}
            </OutLink>
          ))}
        </p>
      )}
      {file.sitemaps.length > 0 && (
        <p class="foot sitemaps">
          {texts.sitemaps}:{' '}
          {file.sitemaps.slice(0, 20).map((sitemap) => (
            <OutLink key={sitemap} href={sitemap}>
              {sitemap}
            </OutLink>
          ))}
        </p>
      )}
    </>
  )
}

function Rule({
  line,
  text,
  marked,
  strong,
}: {
  line?: number | undefined
  text: string
  marked?: boolean
  strong?: boolean
}) {
  return (
    <li class={marked ? 'marked' : ''}>
      <span class="muted">{line}</span>
      {strong ? (
        <b>
          <Cut text={text} />
        </b>
      ) : (
        <Cut text={text} />
      )}
      {marked && <span class="small muted">{t().policy.decides}</span>}
    </li>
  )
}

const MAX_LINKS = 60

/** The llms.txt as parsed: its links by section, with the status that agents got last. */
function LlmsFile({ file }: { file: Result<'/api/policy'> }) {
  const texts = t().policy
  const llms = file.data?.llms
  const links = (llms?.sections ?? []).flatMap(({ name, links: own }) =>
    own.map((link) => ({ section: name, ...link })),
  )
  return (
    <Panel
      title="llms.txt"
      aside={llms && `${texts.links(links.length)}, ${texts.fetched(formatInstant(llms.fetched_at))}`}
      answers={[file]}
      empty={llms === undefined}
      emptyText={texts.noLlms}
    >
      {() =>
        llms &&
        (llms.standing !== 'served' ? (
          <Absent>{texts.llmsStanding(llms.standing, llms.status)}</Absent>
        ) : (
          <>
            {llms.title && <h3>{llms.title.slice(0, 300)}</h3>}
            {llms.summary && <p class="muted">{llms.summary.slice(0, 1000)}</p>}
            <Table
              label="llms.txt"
              rows={links.slice(0, MAX_LINKS)}
              rowKey={({ section, url, title }) => `${section} ${url} ${title}`}
              columns={[
                {
                  key: 'title',
                  head: texts.linkTitle,
                  cell: ({ title, url }) => <OutLink href={url}>{title || url}</OutLink>,
                },
                textColumn('section', texts.section, { width: '16%', wide: true }),
                textColumn('notes', texts.notes, { width: '38%', wide: true }),
                {
                  key: 'status',
                  head: texts.lastStatus,
                  right: true,
                  width: '14%',
                  cell: ({ last_status, offsite, disallowed }) =>
                    disallowed ? (
                      <b>✕ {t().coverage.disallowed}</b>
                    ) : (
                      (last_status ?? <span class="muted small">{offsite ? texts.offsite : t().pages.never}</span>)
                    ),
                },
              ]}
            />
            {links.length > MAX_LINKS && <p class="foot">{texts.firstLinks(MAX_LINKS)}</p>}
            {llms.problems.map(({ line, problem }) => (
              <p class="foot" key={`${line} ${problem}`}>
                {line} {problem}
              </p>
            ))}
          </>
        ))
      }
    </Panel>
  )
}
