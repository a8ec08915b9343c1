import { act } from '../parts/dialogs.js'
import { BothMarks, Icon, Mark } from '../parts/marks.js'
import { Popover } from '../parts/popover.js'
import { type Compare, go, hrefTo, place, type Show, view, viewPath } from '../state/address.js'
import { LANGUAGES, language, letterKeys, THEMES, theme } from '../state/preferences.js'
import { shareSlug } from '../state/question.js'
import { hasRole, me, signOut, site, sites } from '../state/session.js'
import { t } from '../texts/index.js'
import { RangePicker } from './range-picker.js'
import { RulesControl } from './rules-control.js'
import { SearchButton } from './search.js'
import { ShareButton } from './share-view.js'

const SHOWS: readonly Show[] = ['human', 'agent', 'both']
const COMPARES: readonly Compare[] = ['none', 'previous', 'year']

/** The switch People | Agents | Both: window, filters and place stay. */
function ReadershipSwitch() {
  const { shell } = t()
  return (
    <div class="switch" role="group" aria-label={shell.readership}>
      {SHOWS.map((show) => (
        <button key={show} type="button" aria-pressed={place.value.show === show} onClick={() => go({ show })}>
          {show === 'both' ? <BothMarks /> : <Mark of={show} />}
          {shell.show[show]}
        </button>
      ))}
    </div>
  )
}

/** The site on screen; the menu leads to the same view of another site. */
function SiteMenu() {
  const { shell } = t()
  const [name, ...rest] = view.value
  const others = sites.value ?? []
  if (others.length < 2 && !hasRole('admin'))
    return (
      <span class="control site">
        <Icon name="globe" />
        <b>{site.value?.name}</b>
      </span>
    )
  return (
    <Popover
      menu
      class="control site"
      button={
        <>
          <Icon name="globe" />
          <b>{site.value?.name ?? shell.chooseSite}</b>
          <Icon name="down" />
        </>
      }
    >
      {() => (
        <>
          {others.map(({ id, name: label }) => (
            <a
              key={id}
              // One page or one goal belongs to its own site.
              href={hrefTo({
                path: ['sites', `${id}`, ...(name ? [name] : []), ...(name === 'settings' ? rest : [])],
                segment: undefined,
              })}
              aria-current={id === site.value?.id}
            >
              {label}
            </a>
          ))}
          {hasRole('admin') && (
            <>
              <hr />
              <a href={hrefTo({ path: ['sites', `${site.value?.id ?? others[0]?.id ?? ''}`, 'settings', 'new-site'] })}>
                {shell.addSite}
              </a>
            </>
          )}
        </>
      )}
    </Popover>
  )
}

function CompareMenu() {
  const { shell } = t()
  const { compare } = place.value
  return (
    <Popover
      menu
      class="control compare-control"
      button={
        <>
          <span class="visually-hidden">{shell.compareWith}: </span>
          <span class="muted" aria-hidden="true">
            {shell.vs}
          </span>{' '}
          <span class="wide">{shell.compare[compare]}</span>
        </>
      }
    >
      {(close) =>
        COMPARES.map((each) => (
          <button
            key={each}
            type="button"
            aria-current={each === compare}
            onClick={() => {
              go({ compare: each })
              close()
            }}
          >
            {shell.compare[each]}
          </button>
        ))
      }
    </Popover>
  )
}

/** The menu with the person's name: their account, theme, language, keys, the API's documentation and the way out. */
function PersonMenu() {
  const { shell } = t()
  const user = shareSlug.value === undefined ? me.value?.user : undefined
  const name = user && (user.name || user.email)
  return (
    <Popover
      menu
      class="control"
      label={name === undefined ? shell.theme : `${shell.account}: ${name}`}
      button={
        <>
          <Icon name="half" /> {name !== undefined && <span class="account">{name}</span>}
        </>
      }
    >
      {() => (
        <>
          {user && (
            <>
              <a href={hrefTo({ path: viewPath('settings', 'account') })}>
                {shell.account} <span class="muted">{user.email}</span>
              </a>
              <button type="button" onClick={() => void act(signOut)}>
                {shell.signOut}
              </button>
              <hr />
            </>
          )}
          {THEMES.map((each) => (
            <button key={each} type="button" aria-current={theme.value === each} onClick={() => (theme.value = each)}>
              {shell.themes[each]}
            </button>
          ))}
          <hr />
          {LANGUAGES.map((each) => (
            <button
              key={each}
              type="button"
              lang={each}
              aria-current={language.value === each}
              onClick={() => (language.value = each)}
            >
              {{ en: 'English', de: 'Deutsch' }[each]}
            </button>
          ))}
          <hr />
          <button
            type="button"
            aria-pressed={letterKeys.value === 'on'}
            onClick={() => (letterKeys.value = letterKeys.value === 'on' ? 'off' : 'on')}
          >
            {shell.letterKeys} {letterKeys.value === 'on' ? <Icon name="check" /> : null}
          </button>
          {shareSlug.value === undefined && (
            <>
              <hr />
              <a href="docs/" data-leave>
                {shell.docs}
              </a>
              <a href="api/docs" data-leave>
                {shell.apiDocs}
              </a>
            </>
          )}
        </>
      )}
    </Popover>
  )
}

interface BarProps {
  plain: boolean
  /** The view has no window. */
  timeless: boolean
  /** The view needs both readerships and compares nothing; the control of rules stands in the place of the switch. */
  acts: boolean
}

/** The top of every view: the site, the readership, the time, search and the person's menu. */
export function Bar({ plain, timeless, acts }: BarProps) {
  return (
    <header class="bar">
      {shareSlug.value === undefined ? (
        <SiteMenu />
      ) : (
        <a class="control site" href={hrefTo({ path: viewPath() })}>
          <Icon name="globe" />
          <b>{site.value?.name}</b>
        </a>
      )}
      {acts ? <RulesControl /> : !plain && <ReadershipSwitch />}
      <span class="grow" />
      {!plain && !timeless && <RangePicker />}
      {!plain && !timeless && !acts && <CompareMenu />}
      {!plain && !acts && <ShareButton />}
      {shareSlug.value === undefined && <SearchButton />}
      <PersonMenu />
    </header>
  )
}
