import { PageName } from '../../parts/names.js'
import { Panel } from '../../parts/panel.js'
import { Empty } from '../../parts/states.js'
import { Table } from '../../parts/table.js'
import { formatNumber, formatSeconds } from '../../state/format.js'
import { fetchesOf, pagesOf, type TextRehearsal, type Tried } from '../../state/rehearsal.js'
import { t } from '../../texts/index.js'

type Agent = TextRehearsal['agents'][number]
const MAX_AGENTS = 12
const MAX_PAGES = 8

/** How an agent behaved after the rules of the window: in the alert's colour only if it broke its operator's word. */
function After({ agent, since }: { agent: Agent; since: string | undefined }) {
  const texts = t().robots
  const { ignored, breaches, reads, read_at } = agent.after
  if (breaches > 0) return <span class="tag alert">⊘ {texts.readOn(breaches)}</span>
  if (ignored > 0) return <span class="tag">⊘ {texts.unclear(ignored)}</span>
  if (reads === 0) return <span class="muted small">{texts.neverRead}</span>
  if (read_at === undefined || since === undefined) return <span class="small">{texts.obeyed}</span>
  const seconds = (Date.parse(read_at) - Date.parse(since)) / 1_000
  return <span class="small">{texts.obeyedAfter(formatSeconds(seconds))}</span>
}

/** The result of a text beside the editor: agents, hidden pages, and the lines that parsers read differently. */
export function Effects({ tried }: { tried: Tried }) {
  const texts = t().robots
  const { result, problem, retry, isWaiting } = tried
  const answers = [
    {
      ...(result && { data: result }),
      ...(problem && { problem }),
      ...{ loading: isWaiting && result === undefined, stale: isWaiting && result !== undefined, retry },
    },
  ]
  const changed = (result?.agents ?? []).filter(({ newly_disallowed: { fetches } }) => fetches > 0)
  const allowed = result?.newly_allowed.fetches ?? 0
  return (
    <div class="span-5 robots-effects">
      <Panel
        title={texts.newlyDisallowed}
        aside={allowed === 0 ? texts.nothingAllowed : texts.newlyAllowed(fetchesOf(allowed))}
        answers={answers}
      >
        {() => (
          <>
            {changed.length === 0 ? (
              <Empty>{texts.nothingDisallowed}</Empty>
            ) : (
              <Table
                label={texts.newlyDisallowed}
                rows={changed.slice(0, MAX_AGENTS)}
                rowKey={({ agent_id }) => agent_id}
                columns={[
                  { key: 'agent', head: texts.agent, cell: ({ name }) => <b>{name}</b> },
                  {
                    ...{ key: 'fetches', head: texts.fetches, right: true, width: '76px', phone: 'end' },
                    cell: ({ newly_disallowed }) => formatNumber(newly_disallowed.fetches),
                  },
                  {
                    ...{ key: 'after', head: texts.after, width: '46%', phone: 'below' },
                    cell: (agent) => <After agent={agent} since={result?.since} />,
                  },
                ]}
              />
            )}
            {changed.length > MAX_AGENTS && <p class="foot">{texts.moreAgents(changed.length - MAX_AGENTS)}</p>}
            {result?.search_engines.length === 0 && <p class="foot">✓ {texts.noSearchEngine}</p>}
            {result?.limits.map(({ kind, fetches }) => (
              <p class="foot" key={kind}>
                {texts.limit[kind](fetchesOf(fetches))}
              </p>
            ))}
          </>
        )}
      </Panel>
      <Panel title={texts.hidden} aside={texts.hiddenFrom} answers={answers} skeleton={2}>
        {() => result && <Hidden of={result.hidden} />}
      </Panel>
      <Panel title={texts.differing} answers={answers} skeleton={2}>
        {() => result && <Differing of={result} />}
      </Panel>
    </div>
  )
}

function Hidden({ of: { pages, llms, sitemap, named } }: { of: TextRehearsal['hidden'] }) {
  const texts = t().robots
  return (
    <>
      {pages.length === 0 && <Empty>{texts.hidesNothing}</Empty>}
      <ul class="hidden-pages">
        {pages.slice(0, MAX_PAGES).map((page) => (
          <li key={page.hostname + page.pathname}>
            <PageName path={page.pathname} />
            <span class="muted small">
              {[...(page.llms ? ['llms.txt'] : []), ...(page.sitemap ? ['Sitemap'] : [])].join(', ')}
            </span>
          </li>
        ))}
      </ul>
      {pages.length > MAX_PAGES && <p class="foot">{texts.hiddenInAll(llms, pagesOf(sitemap))}</p>}
      {named.slice(0, 5).map((group) => (
        <p class="foot" key={group.agents.join()}>
          {texts.hiddenFromNamed(group.agents, group.total, group.llms, pagesOf(group.sitemap))}
        </p>
      ))}
    </>
  )
}

function Differing({ of: { differing, problems } }: { of: TextRehearsal }) {
  const texts = t().robots
  const explained = new Set(differing.map(({ line }) => line))
  const others = problems.filter(({ line }) => line === undefined || !explained.has(line)).slice(0, 50)
  if (differing.length + others.length === 0) return <Empty>{texts.noneDiffers}</Empty>
  return (
    <dl class="differing">
      {differing.map(({ line, kind, text, detail }) => (
        <div key={`${line} ${kind}`}>
          <dt>
            {line !== undefined && <b class="differs">{line}</b>} <code>{text}</code>
          </dt>
          <dd>{texts.difference[kind]?.(detail ?? '')}</dd>
        </div>
      ))}
      {others.map(({ line, problem }) => (
        <div key={`${line} ${problem}`}>
          <dt>{line !== undefined && <b class="differs">{line}</b>}</dt>
          <dd>{problem}</dd>
        </div>
      ))}
    </dl>
  )
}
