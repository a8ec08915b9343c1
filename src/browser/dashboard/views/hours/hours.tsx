import { Mark } from '../../parts/marks.js'
import { Panel, Sentence, Sheet } from '../../parts/panel.js'
import { Absent, Lacking, Warnings } from '../../parts/states.js'
import type { Audience } from '../../state/address.js'
import { formatShare } from '../../state/format.js'
import { askable, audiences, type Pair, usePair } from '../../state/question.js'
import { timeZone } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { busiestOf, type Cell, compareWeekend, hourName, WeekGrid } from './week-grid.js'
import '../../styles/hours.css'

type Answers = Pair<'/api/stats/hours'>

/** The view of the hours of the week at which people come and agents read. */
export default function HoursView() {
  const { hours, shell } = t()
  const answers = usePair('/api/stats/hours', { compare: undefined })
  const shown = audiences.value
  const asked = askable.value === 'both' ? shown.map((of) => answers[of]) : [answers[askable.value]]
  return (
    <Sheet title={shell.view.hours}>
      <Sentence answers={asked}>{() => sentence(answers)}</Sentence>
      {shown.map((of) => (
        <Side key={of} of={of} answer={answers[of]} />
      ))}
      <div class="cell">
        <p class="foot">{hours.foot(timeZone.value)}</p>
        <Warnings of={shown.map((of) => answers[of].meta)} />
      </div>
    </Sheet>
  )
}

const isKnown = (cells: readonly Cell[]): boolean => cells.some(({ hours }) => hours > 0)

/** One sentence for each readership: its busiest hour, and the end of the week beside the other days. */
function sentence(answers: Answers): unknown[] {
  const texts = t().hours
  const answered = audiences.value.flatMap((of) => {
    const { data } = answers[of]
    return data && isKnown(data.cells) ? [{ of, cells: data.cells }] : []
  })
  if (answered.length === 0) return [texts.neverRecorded]
  return answered.flatMap(({ of, cells }) => {
    const most = busiestOf(cells)
    if (!most) return [texts.nothing[of]]
    const who = <span class={of === 'human' ? 'people' : 'agents'}>{texts.who[of]}</span>
    return [...texts.most[of](who, <strong>{hourName(most)}</strong>), weekendText(cells)]
  })
}

/** The least difference, as a share, that a reader sees in the grid. */
const MIN_DIFFERENCE = 0.1

function weekendText(cells: readonly Cell[]): string {
  const texts = t().hours.weekend
  const change = compareWeekend(cells)
  if (change === undefined) return texts.unknown
  if (Math.abs(change) < MIN_DIFFERENCE) return texts.same
  return change < 0 ? texts.fewer(formatShare(-change, 0)) : texts.more(formatShare(change, 0))
}

function Side({ of, answer }: { of: Audience; answer: Answers[Audience] }) {
  const { hours, shell } = t()
  const { data } = answer
  return (
    <Panel
      span={audiences.value.length === 2 ? 6 : 12}
      title={
        <span class="marked">
          <Mark of={of} />
          {shell.show[of]}
        </span>
      }
      aside={hours.aside[of]}
      answers={[answer]}
      skeleton={12}
    >
      {() => (
        <>
          <Lacking of={of} />
          {data && isKnown(data.cells) ? (
            <WeekGrid of={of} cells={data.cells} />
          ) : (
            <Absent of={of}>{hours.neverRecorded}</Absent>
          )}
        </>
      )}
    </Panel>
  )
}
