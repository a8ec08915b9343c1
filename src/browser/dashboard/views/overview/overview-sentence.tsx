import type { DataOf } from '../../client/index.js'
import { dimensionName, filteredBy } from '../../parts/filter-name.js'
import { PageLink, ViewLink } from '../../parts/names.js'
import { Sentence } from '../../parts/panel.js'
import { hrefTo, isFilter, place } from '../../state/address.js'
import { formatShare } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { askable, type Pair, useOne } from '../../state/question.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'
import { useViolationTotals } from './panels.js'

type Totals = Pair<'/api/stats/overview'>

/** The sentence of the overview: a fixed template with the view's numbers as links. */
export function OverviewSentence({ totals }: { totals: Totals }) {
  const show = askable.value
  const texts = t().overview
  const human = totals.human.data
  const agent = totals.agent.data
  // Questions of the panels, so that each is asked once.
  const violations = useViolationTotals()
  const gap = useOne('/api/citation-gap', 'agent', { compare: undefined, limit: 8 })
  const answers = show === 'both' ? [totals.human, totals.agent] : [totals[show]]
  return (
    <Sentence answers={answers} also={[violations, gap]}>
      {() => {
        const people = human?.visitors
        const agents = agent?.agents
        const shownPeople = quantity('/api/stats/overview visitors', people ?? 0, (text) => (
          <a class="people" href={hrefTo({ show: 'human' })}>
            {text}
          </a>
        ))
        const shownAgents = quantity('/api/stats/overview agents', agents ?? 0, (text) => (
          <ViewLink class="agents" to={['agents']}>
            {text}
          </ViewLink>
        ))
        if (people === undefined && agents === undefined) return texts.notRecorded(whenText())
        if (!people && !agents) return texts.nobody(whenText())
        if (show === 'human') return texts.onlyPeople(whenText(), shownPeople, whatWasRead())
        const fetches = quantity('/api/stats/overview fetches', agent?.fetches ?? 0)
        return [
          ...(show === 'both'
            ? texts.both(whenText(), shownPeople, shownAgents, whatWasRead())
            : texts.onlyAgents(whenText(), shownAgents, fetches, whatWasRead())),
          ...fetchedChange(agent),
          ...breaches(violations.data),
          ...mostRead(gap.data?.[0]),
        ]
      }}
    </Sentence>
  )
}

/** The site; the page that the question is filtered to; or the site with what else it is filtered by. */
function whatWasRead(): unknown {
  const texts = t().overview
  const { filters, segment } = place.value
  const [only] = filters
  const isPage = filters.length === 1 && segment === undefined && only !== undefined && isFilter(only)
  if (isPage && only.dimension === 'pathname' && only.op === 'is' && typeof only.value === 'string')
    return <PageLink path={only.value} />
  const names = [...filteredBy().map(dimensionName), ...(segment === undefined ? [] : [texts.aSegment])]
  return names.length === 0 ? texts.thisSite : texts.filteredBy(names.join(', '))
}

function fetchedChange(agent: DataOf<'/api/stats/overview'> | undefined): readonly unknown[] {
  const [now, before] = [agent?.fetches, agent?.comparison?.fetches]
  if (!now || !before || Math.abs(now - before) / before < 0.02) return []
  const share = <ViewLink to={['agents']}>{formatShare(Math.abs(now - before) / before)}</ViewLink>
  return now > before ? t().overview.fetchedMore(share) : t().overview.fetchedLess(share)
}

function breaches(found: DataOf<'/api/policy/violations/agents'> | undefined): readonly unknown[] {
  const rows = (found ?? []).filter(({ severity }) => severity === 'breach')
  if (rows.length === 0) return []
  const texts = t().overview
  const agents = new Set(rows.map(({ agent_id }) => agent_id)).size
  const fetches = rows.reduce((sum, row) => sum + row.fetches, 0)
  return texts.breached(
    quantity('/api/policy/violations/agents agent_id', agents, (text) => (
      <ViewLink class="alert" to={['violations']}>
        {text}
      </ViewLink>
    )),
    quantity('/api/policy/violations/agents fetches', fetches),
  )
}

function mostRead(row: DataOf<'/api/citation-gap'>[number] | undefined): readonly unknown[] {
  if (!row || row.fetches === 0) return []
  const texts = t().overview
  const gap = (text: string) => <ViewLink to={['citation-gap']}>{text}</ViewLink>
  return texts.assistants(
    <PageLink path={row.pathname} />,
    quantity('/api/citation-gap fetches', row.fetches, gap),
    quantity('/api/citation-gap arrivals', row.arrivals, gap),
  )
}
