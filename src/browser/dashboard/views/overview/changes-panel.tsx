import { Chain } from '../../parts/change-chain.js'
import { changeSentences, largestPart, useChanges } from '../../parts/change-text.js'
import { More } from '../../parts/names.js'
import { Panel } from '../../parts/panel.js'
import { audiences } from '../../state/question.js'
import { t } from '../../texts/index.js'

const TOP_ROWS = 3

/** Why the numbers rose or fell: the sentence of the view What changed, and the rows that changed most. */
export function ChangesPanel() {
  const texts = t().changes
  const answers = useChanges()
  const drawn = audiences.value.flatMap((of) => {
    const { data } = answers[of]
    const named = data && (data.cause ?? largestPart(data))
    const wanted = named?.dimension ?? (of === 'human' ? 'source' : 'agent_id')
    const dimension = data?.dimensions.find((one) => one.dimension === wanted)
    if (data?.difference === undefined || !dimension) return []
    return [{ of, dimension, totals: { now: data.now ?? 0, before: data.before ?? 0, difference: data.difference } }]
  })
  return (
    <Panel
      title={texts.title}
      right={<More to="changes">{texts.all}</More>}
      answers={audiences.value.map((of) => answers[of])}
      skeleton={9}
    >
      {() => (
        <>
          <p class="change-words">{changeSentences(answers)}</p>
          <div class="change-sides">
            {drawn.map((one) => (
              <Chain key={one.of} {...one} top={TOP_ROWS} />
            ))}
          </div>
        </>
      )}
    </Panel>
  )
}
