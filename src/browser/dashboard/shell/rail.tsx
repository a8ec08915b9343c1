import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { Icon, Logo, Mark } from '../parts/marks.js'
import { type Audience, hrefTo, place, view, viewPath } from '../state/address.js'
import { type Params, useRead } from '../state/data.js'
import { segments } from '../state/filters.js'
import { formatNumber, formatShort } from '../state/format.js'
import { quantity } from '../state/quantity.js'
import { audiences, dimensions, envelope, shareSlug, siteQuery, usePair } from '../state/question.js'
import { t } from '../texts/index.js'
import {
  ACT_VIEWS,
  AGENT_VIEWS,
  CHANGES,
  isOpenTo,
  LIVE,
  OVERVIEW,
  openViews,
  pathOf,
  SITE_VIEWS,
  type View,
} from './views.js'

/** Whether the rail covers the page, on phones. */
const isOpen = signal(false)

/** Milliseconds between two questions about the readers of this moment. */
export const REALTIME_MS = 15_000

/** The question about the readers of this moment; undefined where it may not be asked. */
export const realtimeQuery = (): Params | undefined =>
  siteQuery.value.site !== undefined && isOpenTo(LIVE)
    ? { ...siteQuery.value, audience: 'all', suspected: place.value.suspected }
    : undefined

/**
 * The people and agents of the last five minutes, refreshed while the page is visible; nothing before anything is recorded,
 * because then they are not known.
 */
function useRealtime(every = REALTIME_MS) {
  const { data, meta } = useRead('/api/stats/realtime', realtimeQuery(), { every })
  return meta?.recorded?.since === undefined ? undefined : data
}

const isCurrent = (name: string): boolean => (view.value[0] ?? 'overview') === name

/** A link to a view. `of`: the only readership that has something there; the link is grey while the other is chosen. */
function Item({ name, of, children }: { name: string; of?: Audience | undefined; children?: ComponentChildren }) {
  const { shell } = t()
  const texts: Record<string, string> = shell.view
  const { show } = place.value
  const isElsewhere = of !== undefined && show !== 'both' && show !== of
  return (
    <li>
      <a
        href={hrefTo({ path: viewPath(...(name === 'overview' ? [] : [name])) })}
        aria-current={isCurrent(name) ? 'page' : undefined}
        {...(isElsewhere ? { class: 'elsewhere', title: shell.elsewhere[show] } : {})}
      >
        {texts[name]} {children}
      </a>
    </li>
  )
}

/** The numbers of the overview's answers that stand beside views, and the question that they are of. */
const counts = signal<{ of: string; texts: Readonly<Record<string, string>> } | undefined>(undefined)

/** Keeps the numbers of the overview while the question stays. They are asked with its panels, and on no other view. */
function useCounts(): Readonly<Record<string, string>> {
  const { filters, segment } = place.value
  const isListed = segment === undefined || segments.value.some(({ id }) => id === segment)
  const isKnown = isListed && ((filters.length === 0 && segment === undefined) || dimensions.value.length > 0)
  const totals = usePair('/api/stats/overview', () => (isCurrent('overview') && isKnown ? {} : undefined))
  const of = JSON.stringify(envelope('human'))
  const [people, agents] = [totals.human, totals.agent]
  const isWhole = audiences.value.some((each) => totals[each].data !== undefined && !totals[each].stale)
  useEffect(() => {
    const count = (name: string, n: number | undefined) => (n === undefined ? [] : [[name, formatShort(n)]])
    if (isWhole)
      counts.value = {
        of,
        texts: Object.fromEntries([
          ...count('events', people.data?.events),
          ...count('sessions', people.data?.sessions),
          ...count('visitors', people.data?.visitors),
          ...count('agents', agents.data?.agents),
        ]),
      }
  }, [of, isWhole, people.data, agents.data])
  return counts.value?.of === of ? counts.value.texts : {}
}

/** A part of the rail; nothing if the reader may open none of its views. */
function Group({
  title,
  views,
  counted,
}: {
  title: string
  views: readonly View[]
  counted: ReturnType<typeof useCounts>
}) {
  const open = views.filter(isOpenTo)
  if (open.length === 0) return null
  return (
    <div>
      <h2>{title}</h2>
      <ul>
        {open.map(({ name, of }) => (
          <Item key={name} name={name} of={of}>
            {counted[name] !== undefined && <span class="count">{counted[name]}</span>}
          </Item>
        ))}
      </ul>
    </div>
  )
}

/** The list of views. Through a share link there are no settings. */
export function Rail() {
  const { shell } = t()
  const now = useRealtime()
  const counted = useCounts()
  useEffect(() => {
    const onEscape = ({ key }: KeyboardEvent) => {
      if (key === 'Escape') isOpen.value = false
    }
    addEventListener('keydown', onEscape)
    return () => removeEventListener('keydown', onEscape)
  }, [])
  return (
    <nav
      id="views"
      tabIndex={-1}
      class={isOpen.value ? 'rail open' : 'rail'}
      aria-label={shell.views}
      onClick={() => (isOpen.value = false)}
    >
      <a class="brand" href={hrefTo({ path: viewPath() })}>
        <Logo />
        readership
      </a>
      <ul>
        {isOpenTo(OVERVIEW) && <Item name="overview" />}
        {isOpenTo(CHANGES) && <Item name="changes" />}
        {isOpenTo(LIVE) && (
          <Item name="live">
            {now && (
              <span class="count">
                <Mark of="human" />
                <span class="visually-hidden">{shell.people} </span>
                {formatNumber(now.people ?? 0)} <Mark of="agent" />
                <span class="visually-hidden">{shell.agentReads} </span>
                {formatNumber(now.agents ?? 0)}
              </span>
            )}
          </Item>
        )}
      </ul>
      <Group title={shell.site} views={SITE_VIEWS} counted={counted} />
      <Group title={shell.agents} views={AGENT_VIEWS} counted={counted} />
      <Group title={shell.act} views={ACT_VIEWS} counted={counted} />
      {shareSlug.value === undefined && (
        <ul class="last">
          <Item name="settings" />
        </ul>
      )}
    </nav>
  )
}

const ICONS = { overview: 'bars', live: 'pulse', pages: 'page', agents: 'diamond', rules: 'gate' } as const
/** The pages have the place of the rules where a share link does not open these. */
const isTab = (name: string): name is keyof typeof ICONS =>
  Object.hasOwn(ICONS, name) && (name !== 'pages' || shareSlug.value !== undefined)

/** The rules stand for all Act views. */
const isChosen = (name: string): boolean =>
  isCurrent(name) || (name === 'rules' && ACT_VIEWS.some((each) => isCurrent(each.name)))

/** The main views at the bottom of a phone; "More" opens the rail. */
export function Tabs() {
  const { shell } = t()
  return (
    <nav class="tabs" aria-label={shell.mainViews}>
      {openViews().map((view) =>
        isTab(view.name) ? (
          <a
            key={view.name}
            href={hrefTo({ path: pathOf(view) })}
            aria-current={isChosen(view.name) && !isOpen.value ? 'page' : undefined}
            onClick={() => (isOpen.value = false)}
          >
            <Icon name={ICONS[view.name]} />
            {view.name === 'rules' ? shell.act : shell.view[view.name]}
          </a>
        ) : null,
      )}
      <button type="button" aria-expanded={isOpen.value} onClick={() => (isOpen.value = !isOpen.value)}>
        <Icon name="menu" />
        {shell.more}
      </button>
    </nav>
  )
}

/** People and agents now, as a link to Live. */
export function Now() {
  const { shell } = t()
  const now = useRealtime()
  if (!now || place.value.path[2] === 'live') return null
  return (
    <a class="now" href={hrefTo({ path: viewPath('live') })}>
      <span>{shell.now}</span>
      {now.people !== undefined && (
        <span>
          <Mark of="human" />
          <b class="people">{quantity('/api/stats/realtime people', now.people).text}</b>
        </span>
      )}
      {now.agents !== undefined && (
        <span>
          <Mark of="agent" />
          <b class="agents">{quantity('/api/stats/realtime agents', now.agents).text}</b>
        </span>
      )}
    </a>
  )
}
