import { useFew } from '../../parts/buttons.js'
import { column } from '../../parts/columns.js'
import { Fact, Facts } from '../../parts/facts.js'
import { PageName } from '../../parts/names.js'
import { Panel } from '../../parts/panel.js'
import { Empty } from '../../parts/states.js'
import { Table } from '../../parts/table.js'
import { formatNumber, formatSeconds } from '../../state/format.js'
import type { TextRehearsal, TriedText } from '../../state/rehearsal.js'
import { t } from '../../texts/index.js'

type Agent = TextRehearsal['agents'][number]
const MAX_AGENTS = 12
const MAX_PAGES = 8
const MAX_PROBLEMS = 50

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
export function Effects({ tried }: { tried: TriedText }) {
  const { robots: texts, units, parts } = t()
  const { data: result } = tried
  const changed = (result?.agents ?? []).filter(({ newly_disallowed: { fetches } }) => fetches > 0)
  const [agents, more] = useFew(changed, MAX_AGENTS)
  const allowed = result?.newly_allowed.fetches ?? 0
  return (
    <div class="span-5 results">
      <Panel
        title={texts.newlyDisallowed}
        aside={allowed === 0 ? texts.nothingAllowed : texts.newlyAllowed(units.fetches(allowed))}
        right={more}
        answers={[tried]}
      >
        {() => (
          <>
            {agents.length === 0 ? (
              <Empty>{texts.nothingDisallowed}</Empty>
            ) : (
              <Table
                label={texts.newlyDisallowed}
                rows={agents}
                rowKey={({ agent_id }) => agent_id}
                columns={[
                  column<Agent>(t().agents.agent, {}, ({ name }) => <b>{name}</b>),
                  column<Agent>(parts.metric.fetches ?? '', { right: true, width: '76px', phone: 'end' }, (agent) =>
                    formatNumber(agent.newly_disallowed.fetches),
                  ),
                  column<Agent>(texts.after, { width: '46%', phone: 'below' }, (agent) => (
                    <After agent={agent} since={result?.since} />
                  )),
                ]}
              />
            )}
            {result?.search_engines.length === 0 && <p class="foot">✓ {texts.noSearchEngine}</p>}
            {result?.limits.map(({ kind, fetches }) => (
              <p class="foot" key={kind}>
                {texts.limit[kind](units.fetches(fetches))}
              </p>
            ))}
          </>
        )}
      </Panel>
      <Panel title={texts.hidden} aside={texts.hiddenFrom} answers={[tried]} skeleton={2}>
        {() => result && <Hidden of={result.hidden} />}
      </Panel>
      <Panel title={texts.differing} answers={[tried]} skeleton={2}>
        {() => result && <Differing of={result} />}
      </Panel>
    </div>
  )
}

function Hidden({ of: { pages, llms, sitemap, named } }: { of: TextRehearsal['hidden'] }) {
  const { robots: texts, units } = t()
  return (
    <>
      {pages.length === 0 && <Empty>{texts.hidesNothing}</Empty>}
      <ul class="ranked">
        {pages.slice(0, MAX_PAGES).map((page) => (
          <li key={page.hostname + page.pathname}>
            <PageName path={page.pathname} />
            <span class="muted small">
              {[...(page.llms ? ['llms.txt'] : []), ...(page.sitemap ? ['Sitemap'] : [])].join(', ')}
            </span>
          </li>
        ))}
      </ul>
      {pages.length > MAX_PAGES && <p class="foot">{texts.hiddenInAll(llms, units.pages(sitemap))}</p>}
      {named.slice(0, 5).map((group) => (
        <p class="foot" key={group.agents.join()}>
          {texts.hiddenFromNamed(group.agents, group.total, group.llms, units.pages(group.sitemap))}
        </p>
      ))}
    </>
  )
}

function Differing({ of: { differing, problems } }: { of: TextRehearsal }) {
  const texts = t().robots
  const explained = new Set(differing.map(({ line }) => line))
  const rows = [
    ...differing.map(({ line, kind, text, detail }) => ({
      line,
      text,
      why: texts.difference[kind]?.(detail ?? ''),
    })),
    ...problems
      .filter(({ line }) => line === undefined || !explained.has(line))
      .map(({ line, problem }) => ({ line, text: undefined, why: problem })),
  ]
  if (rows.length === 0) return <Empty>{texts.noneDiffers}</Empty>
  return (
    <Facts>
      {rows.slice(0, MAX_PROBLEMS).map(({ line, text, why }, i) => (
        <Fact key={i} name={`${line ?? ''} ${text ?? ''}`}>
          {why}
        </Fact>
      ))}
    </Facts>
  )
}
