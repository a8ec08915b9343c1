import type { ComponentChildren } from 'preact'
import { hrefTo, viewPath } from '../state/address.js'
import { isFiltered, toggleFilter } from '../state/filters.js'
import { formatAgo, formatFullInstant } from '../state/format.js'
import { shortPath, shownPath } from '../state/path-name.js'
import { isOpenPath, isOpenView } from '../state/shared-scopes.js'
import { t } from '../texts/index.js'
import { Icon } from './marks.js'
import { AnyText } from './path-text.js'

/** A text of any origin: cut to its box, its direction kept to itself, whole in the tooltip. */
export const Cut = ({ text, whole = text }: { text: string; whole?: string }) => (
  <span class="cut" title={whole.slice(0, 2_000)} dir="auto">
    <AnyText text={text} />
  </span>
)

/** The name of a row in words, as screen readers say it. */
const nameOf = (label: string): string => (label.startsWith('/') ? shownPath(label.slice(0, 200)) : label.slice(0, 200))

interface NameProps {
  label: string
  /** The filter that a click sets: again removes it, with Alt it excludes. */
  filter?: readonly [dimension: string, value: string | number | boolean] | undefined
  /** The path of the page that the arrow opens. */
  to?: readonly string[] | undefined
}

/** The name of a row: a click filters by it, the arrow opens its page. */
export function RowName({ label, filter, to: target }: NameProps) {
  const to = target && isOpenPath(target) ? target : undefined
  const pressed = filter !== undefined && isFiltered(...filter)
  return (
    <span class="row-name">
      {filter === undefined ? (
        to === undefined ? (
          <Cut text={label} />
        ) : (
          <a class="cut" href={hrefTo({ path: to })} title={label.slice(0, 2_000)} dir="auto">
            <AnyText text={label} />
          </a>
        )
      ) : (
        <button
          type="button"
          class="cut"
          dir="auto"
          title={label.slice(0, 2_000)}
          aria-pressed={pressed}
          aria-label={t().parts.filterBy(nameOf(label))}
          onClick={(event) => toggleFilter(...filter, event.altKey)}
        >
          <AnyText text={label} />
        </button>
      )}
      {filter !== undefined && to !== undefined && (
        <a class="open" href={hrefTo({ path: to })} aria-label={t().parts.open(nameOf(label))}>
          <Icon name="right" />
        </a>
      )}
    </span>
  )
}

/** The name of a row that is a page. */
export const PageName = ({ path }: { path: string }) => (
  <RowName label={path} filter={['pathname', path]} to={viewPath('pages', path)} />
)

interface ViewLinkProps {
  /** The view's name, and what follows it in the path. */
  to: readonly [name: string, ...parts: (string | number)[]]
  class?: string
  title?: string
  dir?: 'ltr' | 'auto'
  children: ComponentChildren
}

/** A link to a view; its text alone where a share link does not open the view. */
export function ViewLink({ to, children, ...more }: ViewLinkProps) {
  if (!isOpenView(to[0])) return <span {...more}>{children}</span>
  return (
    <a href={hrefTo({ path: viewPath(...to) })} {...more}>
      {children}
    </a>
  )
}

/** A page in a sentence, where a lone slash would be read as a mark between words. Tables show it as the path it is. */
export const PageLink = ({ path, front = t().parts.frontPage }: { path: string; front?: string }) => (
  <ViewLink to={['pages', path]} title={path.slice(0, 2_000)} dir="ltr">
    {path === '/' ? front : shortPath(path, 80)}
  </ViewLink>
)

/** A link to a view beside the title of a panel; nothing where a share link does not open the view. */
export const More = ({ to, children }: { to: ViewLinkProps['to'] | string; children: ComponentChildren }) => {
  const [name, ...parts] = typeof to === 'string' ? ([to] as const) : to
  return isOpenView(name) ? (
    <ViewLink class="more" to={[name, ...parts]}>
      {children}
    </ViewLink>
  ) : null
}

/** How long ago something happened; the tooltip has the instant. */
export const Ago = ({ at }: { at: string }) => (
  <span class="muted no-wrap" title={formatFullInstant(at)}>
    {formatAgo(at)}
  </span>
)

/** A link to another website; plain text if the address is not http or https. */
export function OutLink({ href, children }: { href: string; children: string }) {
  const isWeb = URL.canParse(href) && /^https?:$/.test(new URL(href).protocol)
  if (!isWeb) return <Cut text={children} />
  return (
    <a class="cut" href={href} rel="noreferrer noopener" target="_blank">
      {children.slice(0, 500)} ↗
    </a>
  )
}
