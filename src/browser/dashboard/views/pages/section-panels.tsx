import { useState } from 'preact/hooks'
import { Bar } from '../../parts/lists.js'
import { Icon } from '../../parts/marks.js'
import { PageName, RowName } from '../../parts/names.js'
import { formatMetric, metricName, metricOf, RowChange } from '../../parts/numbers.js'
import { Panel } from '../../parts/panel.js'
import { Lacking } from '../../parts/states.js'
import type { Audience, FilterNode } from '../../state/address.js'
import { useRead } from '../../state/data.js'
import { filtersWith } from '../../state/filters.js'
import { shownPath } from '../../state/path-name.js'
import { audiences, envelope, usePair } from '../../state/question.js'
import { t } from '../../texts/index.js'

/** Pages of an opened section. */
const OPENED_PAGES = 5

/** The sections of the site, for each readership on screen: a click on one filters by it, its arrow shows its pages. */
export function SectionPanels() {
  const texts = t().pages.sections
  const sides = audiences.value
  const answers = usePair('/api/stats/breakdown', () => ({ dimension: 'section', limit: 100 }))
  return (
    <>
      {sides.map((of) => {
        const rows = (answers[of].data ?? []).toSorted((a, b) => (b.pageviews ?? 0) - (a.pageviews ?? 0))
        const most = Math.max(...rows.map(({ pageviews }) => pageviews ?? 0), 1)
        return (
          <Panel
            key={of}
            span={sides.length > 1 ? 6 : 12}
            title={texts.title}
            aside={of === 'human' ? metricName('pageviews') : t().pages.pageReads}
            answers={[answers[of]]}
            empty={rows.every(({ value }) => value === undefined)}
            emptyText={texts.empty}
            skeleton={5}
          >
            {() => (
              <>
                <Lacking of={of} />
                <ul class="ranked sections">
                  {rows.map((row) => (
                    <SectionRow key={row.value ?? ''} of={of} row={row} most={most} />
                  ))}
                </ul>
              </>
            )}
          </Panel>
        )
      })}
    </>
  )
}

interface SectionRowProps {
  of: Audience
  row: {
    value?: string | number | boolean | undefined
    pageviews?: number | undefined
    comparison?: object | undefined
  }
  most: number
}

function SectionRow({ of, row, most }: SectionRowProps) {
  const texts = t().pages.sections
  const [isOpen, setIsOpen] = useState(false)
  const { value, pageviews } = row
  const label = value === undefined ? texts.none : shownPath(`${value}`)
  return (
    <li>
      <span class="row-name">
        <button
          type="button"
          class="open"
          aria-expanded={isOpen}
          aria-label={texts.open(label)}
          onClick={() => setIsOpen(!isOpen)}
        >
          <Icon name={isOpen ? 'down' : 'right'} />
        </button>
        <RowName label={label} filter={value === undefined ? undefined : ['section', `${value}`]} />
      </span>
      <span class="amount">
        <RowChange metric="pageviews" now={pageviews} before={metricOf(row.comparison, 'pageviews')} />
        <span>{pageviews === undefined ? '' : formatMetric('pageviews', pageviews)}</span>
      </span>
      <Bar share={(pageviews ?? 0) / most} of={of} />
      {isOpen && <SectionPages of={of} section={value === undefined ? undefined : `${value}`} />}
    </li>
  )
}

/** The pages of one section that were read most, and how many more there are. */
function SectionPages({ of, section }: { of: Audience; section: string | undefined }) {
  const filter: FilterNode =
    section === undefined
      ? { dimension: 'section', op: 'is_not_set' }
      : { dimension: 'section', op: 'is', value: section }
  const answer = useRead('/api/stats/pages', {
    ...envelope(of),
    compare: undefined,
    limit: OPENED_PAGES,
    filters: filtersWith(filter),
  })
  const rows = answer.data ?? []
  const others = (answer.meta?.total ?? 0) - rows.length
  return (
    <ul class="section-pages" aria-busy={answer.loading}>
      {rows.map(({ pathname, pageviews }) => (
        <li key={pathname}>
          <PageName path={pathname} />
          <span>{pageviews === undefined ? '' : formatMetric('pageviews', pageviews)}</span>
        </li>
      ))}
      {others > 0 && <li class="muted small">{t().pages.sections.others(t().units.pages(others))}</li>}
    </ul>
  )
}
