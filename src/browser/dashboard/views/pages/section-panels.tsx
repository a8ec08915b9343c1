import { RankedPanel } from '../../parts/list-panel.js'
import { metricName } from '../../parts/numbers.js'
import { shownPath } from '../../state/path-name.js'
import { audiences, usePair } from '../../state/question.js'
import { t } from '../../texts/index.js'

/** The sections of the site, for each readership on screen; a click on one filters by it. */
export function SectionPanels() {
  const texts = t().pages.sections
  const sides = audiences.value
  const answers = usePair('/api/stats/breakdown', () => ({ dimension: 'section', limit: 100, compare: undefined }))
  return (
    <>
      {sides.map((of) => {
        const rows = (answers[of].data ?? []).toSorted((a, b) => (b.pageviews ?? 0) - (a.pageviews ?? 0))
        return (
          <RankedPanel
            key={of}
            span={sides.length > 1 ? 6 : 12}
            title={texts.title}
            aside={of === 'human' ? metricName('pageviews') : t().pages.pageReads}
            answer={answers[of]}
            empty={rows.every(({ value }) => value === undefined)}
            emptyText={texts.empty}
            skeleton={5}
            of={of}
            metric="pageviews"
            rows={rows.map(({ value, pageviews }) =>
              value === undefined
                ? { label: texts.none, value: pageviews }
                : { label: shownPath(`${value}`), value: pageviews, filter: ['section', `${value}`] },
            )}
          />
        )
      })}
    </>
  )
}
