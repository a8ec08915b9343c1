import { computed, signal } from '@preact/signals'
import type { DataOf } from '../client/index.js'
import { root, siteId } from './address.js'
import { client, isProblem, type Problem, send } from './client.js'
import { askData } from './data.js'
import type { SaltPeriod } from './id-period.js'

export type Me = DataOf<'/api/auth/me'>
export type Role = Me['organisations'][number]['role']

/** The person who is signed in; undefined until known. */
export const me = signal<Me | undefined>(undefined)

export interface SiteInfo {
  id: number
  name: string
  timezone: string
  org?: number
  domains?: readonly string[]
  url?: string
  currency?: string
  /** How long ids of people last; absent for readers of a share link. */
  visitor_salt?: SaltPeriod
}
/** The sites that the reader may see. */
export const sites = signal<readonly SiteInfo[] | undefined>(undefined)
export const site = computed(() => sites.value?.find(({ id }) => id === siteId.value))
/** The time zone of the site on screen: all times are shown in it. */
export const timeZone = computed(() => site.value?.timezone ?? 'UTC')

const RANKS: readonly Role[] = ['viewer', 'member', 'admin', 'owner']

/** The person's role in the organisation of the site on screen, or in the first one without a site. Share links have none. */
const role = computed<Role | undefined>(() => {
  const organisations = me.value?.organisations
  return (site.value ? organisations?.find(({ id }) => id === site.value?.org) : organisations?.at(0))?.role
})
/** Whether the person has at least this role. */
export const hasRole = (least: Role): boolean =>
  role.value !== undefined && RANKS.indexOf(role.value) >= RANKS.indexOf(least)

/** The sign-in page, which returns to the present address. */
export const signInAddress = (): string =>
  `${root.href}sign-in?next=${encodeURIComponent(location.href.slice(root.href.length).replace(/#.*$/, ''))}`

/** Loads the person and the sites. Opens the sign-in page if no person is signed in. */
export async function loadSession(): Promise<Problem | undefined> {
  try {
    const [person, listed] = await Promise.all([askData('/api/auth/me'), askData('/api/sites')])
    me.value = person
    sites.value = listed
    return undefined
  } catch (error) {
    if (!isProblem(error)) throw error
    if (error.status === 401) location.assign(signInAddress())
    return error
  }
}

export async function signOut(): Promise<void> {
  await send(client.POST('/api/auth/logout'))
  location.assign(`${root.href}sign-in`)
}

/** The title of the page in the browser's tab. */
export const pageTitle = (view: string): string => [view, site.value?.name, 'readership'].filter(Boolean).join(' · ')

/**
 * Returns the address at which readers reach the site on screen, as far as it is known. A dashboard that a site itself serves, below its base
 * path, knows the address that the reader sees.
 */
export const siteAddress = (): string | undefined =>
  root.pathname !== '/' && !site.value?.domains?.length ? `${location.origin}/` : site.value?.url

/** The tag that adds the tracker's script to a page of the site. */
export const scriptTag = (): string => `<script defer src="${root.href}script.js?site=${siteId.value ?? ''}"></script>`
