import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Icon, Mark } from '../parts/marks.js'
import { Cut } from '../parts/names.js'
import { type FilterNode, go, viewPath } from '../state/address.js'
import { useRead } from '../state/data.js'
import { formatCountry } from '../state/format.js'
import { encodedPath, shownPath } from '../state/path-name.js'
import { shareSlug, siteQuery } from '../state/question.js'
import { t } from '../texts/index.js'
import { openViews, pathOf, type View } from './views.js'

export const searching = signal(false)

export function SearchButton() {
  const { shell } = t()
  return (
    <button
      type="button"
      class="control find"
      aria-label={`${shell.search}: ${shell.searchHint}`}
      onClick={() => (searching.value = true)}
    >
      <span class="row-name">
        <Icon name="search" />
        <span class="label">{shell.search}</span>
      </span>
      <kbd aria-hidden="true">/</kbd>
    </button>
  )
}

interface Found {
  key: string
  label: string
  kind: string
  path: readonly string[]
  mark?: 'human' | 'agent'
  /** Filters that the view is opened with, in place of those on screen. */
  filters?: readonly FilterNode[]
}

const foundSection = ([{ pattern }, label]: [{ pattern: string }, string]): Found => ({
  ...{ key: `n${pattern}`, label, kind: t().pages.sections.title, path: viewPath('pages') },
  filters: [{ dimension: 'section', op: 'is', value: pattern }],
})

/** Finds views by name, then those that are about a word. */
function findViews(lower: string): Found[] {
  const names: Record<string, string> = t().shell.view
  const words: Record<string, string> = t().shell.viewWords
  const labelOf = ({ name }: View) => names[name] ?? name
  const isCalled = (one: View) => labelOf(one).toLowerCase().includes(lower)
  const isAbout = (one: View) => !isCalled(one) && ` ${words[one.name] ?? ''}`.toLowerCase().includes(` ${lower}`)
  return [...openViews().filter(isCalled), ...openViews().filter(isAbout)]
    .slice(0, 5)
    .map((one) => ({ key: `v${one.name}`, label: labelOf(one), kind: t().shell.views, path: pathOf(one) }))
}

/** Finds views, settings and goals by name, agents of the catalogue; pages, sections, events and countries of 90 days. */
function useFound(text: string): Found[] {
  const { shell } = t()
  const site = siteQuery.value
  const ready = text.length > 0 && site.site !== undefined
  const filters = JSON.stringify([{ dimension: 'pathname', op: 'contains', value: [text, encodedPath(text)] }])
  const pages = useRead('/api/stats/pages', ready ? { ...site, range: '90d', limit: 8, filters } : undefined)
  const reads = useRead(
    '/api/stats/pages',
    ready ? { ...site, range: '90d', limit: 8, filters, audience: 'agent' } : undefined,
  )
  const isPerson = ready && shareSlug.value === undefined
  const goals = useRead('/api/goals', isPerson ? site : undefined)
  const events = useRead('/api/stats/events', isPerson ? { ...site, range: '90d', limit: 200 } : undefined)
  const places = useRead(
    '/api/stats/locations',
    isPerson ? { ...site, range: '90d', limit: 300, audience: 'all' } : undefined,
  )
  const inEffect = useRead('/api/sites/{id}/sections', isPerson ? {} : undefined, { params: { id: site.site } })
  const catalog = useRead('/api/agents/catalog', ready ? { ...site, range: '90d' } : undefined)
  if (!ready) return []
  const lower = text.toLowerCase()
  const agents = (catalog.data ?? [])
    .filter(({ name, operator }) => `${name} ${operator}`.toLowerCase().includes(lower))
    .sort((a, b) => (b.seen?.fetches ?? 0) - (a.seen?.fetches ?? 0))
  const matching = <R,>(rows: readonly R[] | undefined, labelOf: (row: R) => string): [R, string][] =>
    (rows ?? [])
      .map((row): [R, string] => [row, labelOf(row)])
      .filter(([, label]) => label.toLowerCase().includes(lower))
      .slice(0, 4)
  const { sections } = t().settings
  const paths = new Set([...(pages.data ?? []), ...(reads.data ?? [])].map(({ pathname }) => pathname))
  return [
    ...findViews(lower),
    ...[...paths].slice(0, 8).map((pathname) => ({
      key: `p${pathname}`,
      label: pathname,
      kind: shell.view.pages,
      path: viewPath('pages', pathname),
    })),
    ...matching(inEffect.data?.sections, ({ pattern }) => shownPath(pattern)).map(foundSection),
    ...agents.slice(0, 6).map(({ agent_id, name, operator }) => ({
      key: `a${agent_id}`,
      label: `${name} · ${operator}`,
      kind: shell.view.agents,
      path: viewPath('agents', agent_id),
      mark: 'agent' as const,
    })),
    ...matching(isPerson ? Object.entries(sections) : [], ([, label]) => label).map(([[name], label]) => ({
      ...{ key: `s${name}`, label, kind: shell.view.settings, path: viewPath('settings', name) },
    })),
    ...matching(goals.data, ({ name }) => name).map(([{ id }, label]) => ({
      ...{ key: `g${id}`, label, kind: shell.view.goals, path: viewPath('goals') },
    })),
    ...matching(events.data, ({ name }) => name).map(([{ kind, name }, label]) => ({
      ...{ key: `e${kind}${name}`, label, kind: shell.view.events, path: viewPath('events', name) },
    })),
    ...matching(places.data?.countries, ({ country }) => (country ? formatCountry(country) : '')).map(
      ([{ country = '' }, label]) => ({
        ...{ key: `c${country}`, label, kind: shell.view.places, path: viewPath('places') },
        filters: [{ dimension: 'country', op: 'is', value: country } as const],
      }),
    ),
    ...(text.startsWith('/') && !paths.has(text) && !paths.has(encodedPath(text))
      ? [
          {
            ...{ key: 'own', label: shell.searchPath(shownPath(text)), kind: shell.view.pages },
            path: viewPath('pages', encodedPath(text)),
          },
        ]
      : []),
  ]
}

/** The search dialog: arrows choose, Enter opens. */
export function Search() {
  const { shell } = t()
  const box = useRef<HTMLDialogElement>(null)
  const [typed, setTyped] = useState('')
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const matches = useFound(text)
  useEffect(() => {
    const dialog = box.current
    dialog?.showModal()
    return () => dialog?.close()
  }, [])
  useEffect(() => {
    const timer = setTimeout(() => setText(typed.trim()), 150)
    return () => clearTimeout(timer)
  }, [typed])
  const close = () => {
    searching.value = false
  }
  const open = (one: Found | undefined) => {
    if (!one) return
    close()
    go({ path: one.path, ...(one.filters ? { filters: [...one.filters] } : {}) })
  }
  return (
    <dialog
      ref={box}
      class="search"
      aria-label={shell.search}
      onCancel={close}
      onClick={(event) => event.target === box.current && close()}
      onKeyDown={(event) => {
        // A search field would only clear itself, and the dialog would close with a second Esc.
        if (event.key === 'Escape') {
          event.preventDefault()
          event.stopPropagation()
          close()
        } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
          event.preventDefault()
          setChosen((i) => Math.max(0, Math.min(matches.length - 1, i + (event.key === 'ArrowDown' ? 1 : -1))))
        } else if (event.key === 'Enter') {
          event.preventDefault()
          // Until the words that were typed last are searched for, the list is about others.
          if (typed.trim() === text) open(matches[chosen])
        }
      }}
    >
      <input
        type="search"
        role="combobox"
        aria-expanded={matches.length > 0}
        aria-controls="found"
        aria-activedescendant={matches[chosen] ? `found-${chosen}` : undefined}
        aria-label={shell.searchHint}
        placeholder={shell.searchHint}
        value={typed}
        list={undefined}
        autofocus
        onInput={(event) => {
          setTyped(event.currentTarget.value)
          setChosen(0)
        }}
      />
      <ul id="found" role="listbox" class="menu" aria-label={shell.search}>
        {matches.map((one, i) => (
          <li key={one.key} id={`found-${i}`} role="option" aria-selected={i === chosen}>
            <button type="button" tabIndex={-1} aria-current={i === chosen} onClick={() => open(one)}>
              <span class="row-name">
                {one.mark && <Mark of={one.mark} />}
                <Cut text={one.label} />
              </span>
              <span class="muted small">{one.kind}</span>
            </button>
          </li>
        ))}
      </ul>
      {text !== '' && matches.length === 0 && <p class="muted">{shell.searchEmpty(text)}</p>}
    </dialog>
  )
}
