import { hrefTo, place } from '../state/address.js'
import { obstacle } from '../state/question.js'
import { t } from '../texts/index.js'
import { Absent, Lacking } from './states.js'

/**
 * The cell that stands in a view about agents while it cannot show them: people alone are chosen, or a filter on screen
 * is one that agents do not have. Nothing otherwise.
 */
export function AgentsLeftOut() {
  const isHuman = place.value.show === 'human'
  if (!isHuman && obstacle('agent') === undefined) return null
  return (
    <div class="cell">
      {isHuman ? (
        <Absent of="agent">
          {t().agents.leftOut} <a href={hrefTo({ show: 'both' })}>{t().agents.showBoth}</a>
        </Absent>
      ) : (
        <Lacking of="agent" />
      )}
    </div>
  )
}

/** Whether agents are on screen and can be asked. */
export const showsAgents = (): boolean => place.value.show !== 'human' && obstacle('agent') === undefined

/** Links that set one parameter of the view; the first is its default. */
export function TabsLine({
  name,
  label,
  tabs,
}: {
  name: string
  label: string
  tabs: readonly (readonly [value: string, text: string])[]
}) {
  const { own } = place.value
  const now = own[name] || tabs[0]?.[0]
  return (
    <nav class="tabs-line" aria-label={label}>
      {tabs.map(([value, text], i) => (
        <a
          key={value}
          href={hrefTo({ own: { ...own, [name]: i === 0 ? '' : value, page: '' } })}
          aria-current={value === now ? 'true' : undefined}
        >
          {text}
        </a>
      ))}
    </nav>
  )
}
