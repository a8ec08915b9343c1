import type { ComponentChildren } from 'preact'
import { go, hrefTo, place, viewPath } from '../state/address.js'
import { t } from '../texts/index.js'
import { PlainButton } from './buttons.js'
import { Sheet } from './panel.js'
import { Absent } from './states.js'

interface PeopleOnlyProps {
  /** The name of the view for screen readers. */
  title?: string | undefined
  /** Why agents have nothing here. */
  why: string
  /** The views that say what agents do instead. */
  instead: readonly ('agents' | 'pages' | 'coverage' | 'citation-gap' | 'policy' | 'violations' | 'decay')[]
  children: () => ComponentChildren
}

/** A view about people: with agents alone on screen it says why there is nothing and where to look instead. */
export function PeopleOnly({ title, why, instead, children }: PeopleOnlyProps) {
  const { parts, shell } = t()
  const links = instead.map((name) => (
    <a key={name} href={hrefTo({ path: viewPath(name) })}>
      {shell.view[name]}
    </a>
  ))
  if (place.value.show === 'agent')
    return (
      <Sheet title={title}>
        <section class="cell">
          <div class="state">
            <p>{why}</p>
            <p class="legend">
              {parts.lookAt} {links}
            </p>
            <PlainButton onClick={() => go({ show: 'human' })}>{parts.showPeople}</PlainButton>
          </div>
        </section>
      </Sheet>
    )
  return (
    <Sheet title={title}>
      {children()}
      {place.value.show === 'both' && (
        <div class="cell">
          <Absent of="agent">
            {why} <span class="legend inline">{links}</span>
          </Absent>
        </div>
      )}
    </Sheet>
  )
}
