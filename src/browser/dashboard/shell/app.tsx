import type { ComponentChildren } from 'preact'
import { useEffect, useErrorBoundary } from 'preact/hooks'
import { Form, Toasts } from '../parts/dialogs.js'
import { Input } from '../parts/fields.js'
import { useSegments } from '../parts/filter-name.js'
import { Logo } from '../parts/marks.js'
import { Patterns } from '../parts/split-bar.js'
import { Failed } from '../parts/states.js'
import { go, hrefTo, isEmbedded, place, siteId, view } from '../state/address.js'
import { type Problem, sessionEndedAt } from '../state/client.js'
import { useRead } from '../state/data.js'
import { segments } from '../state/filters.js'
import { formatDay } from '../state/format.js'
import { dimensions, siteQuery } from '../state/question.js'
import { hasRole, me, pageTitle, site, sites, timeZone } from '../state/session.js'
import { lockedShare, unlockShare } from '../state/share.js'
import { share } from '../state/shared-scopes.js'
import { t } from '../texts/index.js'
import { Bar } from './bar.js'
import { Chips } from './chips.js'
import { KeysDialog, showingKeys } from './keys.js'
import { lazy } from './lazy.js'
import { Rail, REALTIME_MS, realtimeQuery, Tabs } from './rail.js'
import { ActTabs } from './rules-control.js'
import { Search, searching } from './search.js'
import { SessionEnded } from './session-ended.js'
import { ACT_VIEWS, isOpenTo, LIVE, openViews, pathOf, type View, viewOf } from './views.js'

/** The form for a site, for an account that has none. */
const { component: NewSite } = lazy(() => import('../views/settings/new-site.js'))

/** Draws a view; if it throws, says so in its place, until the address changes. */
function Guarded({ children }: { children: ComponentChildren }) {
  const [error, reset] = useErrorBoundary((thrown) => console.error(thrown))
  const { value: now } = place
  useEffect(() => {
    if (error) reset()
  }, [now])
  if (!error) return children
  return <Failed problem={{ status: 0, code: 'page_failed', message: '', at: new Date() }} retry={reset} />
}

/** The first view of the share link, or of the first site. */
function homePath(): string[] {
  const [first] = openViews()
  if (share.value) return first ? pathOf(first) : []
  return sites.value?.[0] ? ['sites', `${sites.value[0].id}`] : []
}

function NotFound() {
  const { notFound } = t().shell
  useEffect(() => {
    document.title = pageTitle(notFound.title)
  }, [])
  return (
    <div class="state">
      <h1 class="title">{notFound.title}</h1>
      <p>{notFound.text}</p>
      <a class="button" href={hrefTo({ path: homePath() })}>
        {notFound.link}
      </a>
    </div>
  )
}

/** Says to a reader of a share link why it does not open a view. */
function NotShared({ of }: { of: View }) {
  const { settings, sharing } = t()
  const names: Record<string, string> = t().shell.view
  const name = names[of.name] ?? of.name
  return (
    <div class="state">
      <h1 class="title">{sharing.closed.title(name)}</h1>
      <p>{of.scope === undefined ? sharing.never(name) : sharing.closed.needs(settings.shares.scope[of.scope])}</p>
      <a class="button" href={hrefTo({ path: homePath() })}>
        {t().shell.notFound.link}
      </a>
    </div>
  )
}

function Footer() {
  const { shell } = t()
  // The rail asks the same as often, so that a new site's first row shows in both at once. Where no share link opens it,
  // the overview also says since when the site is recorded.
  const live = useRead('/api/stats/realtime', realtimeQuery(), { every: REALTIME_MS })
  const day = useRead(
    '/api/stats/overview',
    isOpenTo(LIVE) || siteQuery.value.site === undefined
      ? undefined
      : { ...siteQuery.value, range: '24h', audience: 'all' },
  )
  const meta = live.meta ?? day.meta
  const since = meta?.recorded?.since
  return (
    <footer class="foot-line">
      <span>{since ? shell.recordedSince(formatDay(since)) : meta ? shell.nothingRecorded : ''}</span>
      <span>{shell.timesIn(timeZone.value)}</span>
      <span>{shell.placesBy}</span>
      <button type="button" onClick={() => (showingKeys.value = true)}>
        {t().shell.keys.title} <kbd>?</kbd>
      </button>
    </footer>
  )
}

/**
 * Asks once per site what can be filtered, and the segments. Returns whether the view can be drawn: with filters it waits
 * for both, because a readership that lacks a filter must not be asked.
 */
function useFilters(): boolean {
  const offered = useRead('/api/stats/dimensions', siteQuery.value.site === undefined ? undefined : siteQuery.value)
  const listed = useSegments()
  useEffect(() => {
    if (offered.data) dimensions.value = offered.data.dimensions
    if (listed.data) segments.value = listed.data
  }, [offered.data, listed.data])
  const { filters, segment } = place.value
  if (filters.length === 0 && segment === undefined) return true
  const isListed = segment === undefined || segments.value.some(({ id }) => id === segment) || !listed.loading
  return (dimensions.value.length > 0 || offered.problem !== undefined) && isListed
}

function SiteView() {
  const { shell } = t()
  const [name] = view.value
  const views = openViews()
  const current = views.find((each) => each.name === (name ?? 'overview'))
  const names: Record<string, string> = shell.view
  const isReady = useFilters()
  useEffect(() => {
    if (current) document.title = pageTitle(names[name ?? 'overview'] ?? '')
  }, [name, site.value?.name, names])
  const unopened = share.value === undefined || name === undefined ? undefined : viewOf(name)
  const isSettings = name === 'settings'
  const acts = current !== undefined && ACT_VIEWS.includes(current)
  // A share link without the overview begins with the first view that it opens.
  const [first] = views
  useEffect(() => {
    if (name === undefined && !current && first) go({ path: pathOf(first) }, true)
  }, [name, current, first])
  return (
    <div class={isEmbedded ? 'app bare' : 'app'}>
      <div class="main">
        <Bar plain={isSettings} timeless={name === 'live'} acts={acts} />
        {acts ? <ActTabs /> : !isSettings && <Chips />}
        <main id="main" tabIndex={-1}>
          {current ? (
            isReady && (
              <Guarded key={name}>
                <current.component />
              </Guarded>
            )
          ) : unopened ? (
            <NotShared of={unopened} />
          ) : (
            <NotFound />
          )}
        </main>
        <Footer />
      </div>
      {!isEmbedded && <Rail />}
      {!isEmbedded && <Tabs />}
    </div>
  )
}

/** A link for the keyboard that leads past what stands before `to`. */
const Skip = ({ to, children }: { to: string; children: string }) => (
  <a
    class="skip"
    href={`#${to}`}
    onClick={(event) => {
      event.preventDefault()
      document.getElementById(to)?.focus()
    }}
  >
    {children}
  </a>
)

/** The whole page. `problem`: the session or the share link could not be loaded. */
export function App({ problem, retry }: { problem?: Problem; retry: () => void }) {
  const { shell } = t()
  const first = sites.value?.[0]
  useEffect(() => {
    if (place.value.path.length === 0 && first) go({ path: ['sites', `${first.id}`] }, true)
  }, [first])
  const isDeadShare = problem?.status === 404 && place.value.path[0] === 'share'
  const isKnownSite = sites.value?.some(({ id }) => id === siteId.value)
  // The hour of an unlocked share link is over, or the link has changed: it is looked up again.
  useEffect(() => {
    if (sessionEndedAt.value && share.value) retry()
  }, [sessionEndedAt.value])
  return (
    <>
      <Skip to="main">{shell.skip}</Skip>
      {isKnownSite && !isEmbedded && <Skip to="views">{shell.skipToViews}</Skip>}
      <Patterns />
      {problem ? (
        <main id="main" class="state">
          <h1 class="title">{isDeadShare ? shell.deadShare.title : shell.failed.title}</h1>
          {isDeadShare ? <p>{shell.deadShare.text}</p> : <Failed problem={problem} retry={retry} />}
        </main>
      ) : lockedShare.value !== undefined ? (
        <UnlockShare slug={lockedShare.value} />
      ) : sites.value && !first ? (
        <main id="main" class="state">
          <h1 class="title">{shell.noSites.title}</h1>
          {hasRole('admin') ? <NewSite /> : <p>{shell.noSites.text}</p>}
        </main>
      ) : isKnownSite ? (
        <SiteView />
      ) : sites.value && place.value.path.length > 0 ? (
        <main id="main" class="main">
          <NotFound />
        </main>
      ) : null}
      {searching.value && <Search />}
      {showingKeys.value && <KeysDialog />}
      {sessionEndedAt.value && me.value && <SessionEnded at={sessionEndedAt.value} />}
      <Toasts />
    </>
  )
}

/** Asks for the password of a share link. */
function UnlockShare({ slug }: { slug: string }) {
  const { locked } = t().shell
  return (
    <main id="main" class="state">
      <p class="brand">
        <Logo />
        readership
      </p>
      <h1 class="title">{locked.title}</h1>
      <Form
        action={locked.action}
        submit={async (fields) => {
          const problem = await unlockShare(slug, `${fields.get('password')}`)
          if (problem) throw problem
        }}
      >
        <Input
          label={locked.password}
          name="password"
          type="password"
          required
          autofocus
          autocomplete="current-password"
        />
      </Form>
    </main>
  )
}
