import type { DataOf } from '../../client/index.js'
import { ViewLink } from '../../parts/names.js'
import { Sentence } from '../../parts/panel.js'
import { hrefTo } from '../../state/address.js'
import type { Result } from '../../state/data.js'
import { quantity } from '../../state/quantity.js'
import { askable, type Pair } from '../../state/question.js'
import { whenText } from '../../state/window.js'
import { t } from '../../texts/index.js'
import type { useAgentsOfPage } from './agents-of-page.js'

interface PageSentenceProps {
  pages: Pair<'/api/stats/pages'>
  gap: Result<'/api/citation-gap/summary'>
  agents: ReturnType<typeof useAgentsOfPage>
}

/** Says which agents read the page, whether they were allowed to, and how many visits came back. */
export function PageSentence({ pages, gap, agents }: PageSentenceProps) {
  const show = askable.value
  return (
    <Sentence
      answers={show === 'human' ? [pages.human] : [pages.agent]}
      also={show === 'human' ? [] : [gap, ...agents.answers]}
    >
      {() =>
        show === 'human'
          ? people(pages.human.data?.[0])
          : [...readers(pages.agent.data?.[0], agents), ...cameBack(gap.data)]
      }
    </Sentence>
  )
}

function people(page: DataOf<'/api/stats/pages'>[number] | undefined): readonly unknown[] {
  const texts = t().pages
  const [visitors, views, entries] = [page?.visitors ?? 0, page?.pageviews ?? 0, page?.entries ?? 0]
  if (visitors === 0) return texts.one.nobody(whenText())
  const readers = quantity('/api/stats/pages visitors', visitors, (text) => <span class="people">{text}</span>)
  return [
    ...texts.one.peopleRead(whenText(), readers, quantity('/api/stats/pages pageviews', views)),
    entries > 0 ? texts.one.began(quantity('/api/stats/pages entries', entries)) : texts.one.end,
  ]
}

function readers(
  page: DataOf<'/api/stats/pages'>[number] | undefined,
  agents: ReturnType<typeof useAgentsOfPage>,
): readonly unknown[] {
  const texts = t().pages
  const [count, fetches] = [page?.agents ?? 0, page?.fetches ?? 0]
  if (fetches === 0) return [...texts.one.noAgent(whenText()), texts.one.end]
  const words = quantity('/api/stats/pages agents', count, (text) => (
    <a class="agents" href={`${hrefTo({})}#agents-of-page`}>
      {text}
    </a>
  ))
  return [...texts.one.readBy(whenText(), words, quantity('/api/stats/pages fetches', fetches)), ...permission(agents)]
}

function permission(agents: ReturnType<typeof useAgentsOfPage>): readonly unknown[] {
  const texts = t().pages
  const disobeyed = agents.rows.filter(({ disallowed }) => disallowed > 0)
  if (disobeyed.length === 0) return [agents.judged && agents.policy?.robots ? texts.one.allAllowed : texts.one.end]
  const isBreach = disobeyed.some(({ severity }) => severity === 'breach')
  const some = (
    <ViewLink class={isBreach ? 'alert' : ''} to={['violations']}>
      {texts.one.ofThem(disobeyed.length)}
    </ViewLink>
  )
  const fetches = quantity('/api/policy/violations/agents fetches', agents.disallowed)
  return texts.one.notAllowed(some, disobeyed.length, fetches)
}

function cameBack(gap: DataOf<'/api/citation-gap/summary'> | undefined): readonly unknown[] {
  const { fetches, arrivals } = gap ?? {}
  // Both are absent if nothing of the window was recorded.
  if (fetches === undefined || arrivals === undefined) return []
  const texts = t().pages
  const visits = quantity('/api/citation-gap arrivals', arrivals, (text) => <span class="people">{text}</span>)
  if (fetches === 0) return arrivals > 0 ? texts.one.notReadByAssistants(visits) : []
  const reads = quantity('/api/citation-gap fetches', fetches)
  return arrivals > 0 ? texts.one.cameBack(reads, visits) : texts.one.noneCameBack(reads)
}
