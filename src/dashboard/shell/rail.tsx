import { signal } from '@preact/signals'
import { Icon, Logo, Mark } from '../parts/marks.js'
import { hrefTo, place, view, viewPath } from '../state/address.js'
import { useRead } from '../state/data.js'
import { formatNumber } from '../state/format.js'
import { shareSlug, siteQuery } from '../state/question.js'
import { share } from '../state/share.js'
import { t } from '../texts/index.js'
import { AGENT_VIEWS, LIVE, SITE_VIEWS, type View } from './views.js'

/** Whether the rail covers the page, on phones. */
const isOpen = signal(false)

/** The people and agents of the last five minutes, refreshed while the page is visible. */
const useRealtime = (every = 15_000) =>
  useRead(
    '/api/stats/realtime',
    siteQuery.value.site === undefined ? undefined : { ...siteQuery.value, audience: 'all' },
    {
      every,
    },
  )

const isCurrent = (name: string): boolean => (view.value[0] ?? 'overview') === name

/** Whether the reader may open a view: through a share link only those of its scopes. */
const isOpenTo = ({ scope }: View): boolean =>
  share.value === undefined || (scope !== undefined && share.value.scopes.includes(scope))

function Item({ name, children }: { name: string; children?: preact.ComponentChildren }) {
  const texts: Record<string, string> = t().shell.view
  return (
    <li>
      <a
        href={hrefTo({ path: viewPath(...(name === 'overview' ? [] : [name])) })}
        aria-current={isCurrent(name) ? 'page' : undefined}
      >
        {texts[name]} {children}
      </a>
    </li>
  )
}

/** The list of views. Through a share link there are no settings. */
export function Rail() {
  const { shell } = t()
  const { data: now } = useRealtime()
  return (
    <nav class={isOpen.value ? 'rail open' : 'rail'} aria-label={shell.views} onClick={() => (isOpen.value = false)}>
      <a class="brand" href={hrefTo({ path: viewPath() })}>
        <Logo />
        readership
      </a>
      <ul>
        <Item name="overview" />
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
      <div>
        <h2>{shell.site}</h2>
        <ul>
          {SITE_VIEWS.filter(isOpenTo).map(({ name }) => (
            <Item key={name} name={name} />
          ))}
        </ul>
      </div>
      <div>
        <h2>{shell.agents}</h2>
        <ul>
          {AGENT_VIEWS.filter(isOpenTo).map(({ name }) => (
            <Item key={name} name={name} />
          ))}
        </ul>
      </div>
      {shareSlug.value === undefined && (
        <ul class="last">
          <Item name="settings" />
        </ul>
      )}
    </nav>
  )
}

const TABS = [
  ['overview', 'bars'],
  ['live', 'pulse'],
  ['pages', 'page'],
  ['agents', 'diamond'],
] as const

/** The main views at the bottom of a phone; "More" opens the rail. */
export function Tabs() {
  const { shell } = t()
  return (
    <nav class="tabs" aria-label={shell.mainViews}>
      {TABS.map(([name, icon]) => (
        <a
          key={name}
          href={hrefTo({ path: viewPath(...(name === 'overview' ? [] : [name])) })}
          aria-current={isCurrent(name) && !isOpen.value ? 'page' : undefined}
          onClick={() => (isOpen.value = false)}
        >
          <Icon name={icon} />
          {shell.view[name]}
        </a>
      ))}
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
  const { data: now } = useRealtime()
  if (!now || place.value.path[2] === 'live') return null
  return (
    <a class="now" href={hrefTo({ path: viewPath('live') })}>
      <span>{shell.now}</span>
      {now.people !== undefined && (
        <span>
          <Mark of="human" />
          <b class="people">{formatNumber(now.people)}</b> {shell.people}
        </span>
      )}
      {now.agents !== undefined && (
        <span>
          <Mark of="agent" />
          <b class="agents">{formatNumber(now.agents)}</b> {shell.agentReads}
        </span>
      )}
    </a>
  )
}
