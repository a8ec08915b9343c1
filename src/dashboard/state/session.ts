import { computed, signal } from '@preact/signals'
import type { DataOf } from '../client/index.js'
import { root, siteId } from './address.js'
import { client, type Problem, send } from './client.js'

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
  currency?: string
}
/** The sites that the reader may see. */
export const sites = signal<readonly SiteInfo[] | undefined>(undefined)
export const site = computed(() => sites.value?.find(({ id }) => id === siteId.value))
/** The time zone of the site on screen: all times are shown in it. */
export const timeZone = computed(() => site.value?.timezone ?? 'UTC')

const RANKS: readonly Role[] = ['viewer', 'member', 'admin', 'owner']

/** The person's role in the organisation of the site on screen; undefined through a share link. */
const role = computed<Role | undefined>(
  () => me.value?.organisations.find(({ id }) => id === site.value?.org)?.role ?? me.value?.organisations.at(0)?.role,
)
/** Whether the person has at least this role. */
export const hasRole = (least: Role): boolean =>
  role.value !== undefined && RANKS.indexOf(role.value) >= RANKS.indexOf(least)

/** The sign-in page, which returns to the present address. */
export const signInAddress = (): string =>
  `${root.href}sign-in?next=${encodeURIComponent(location.href.slice(root.href.length).replace(/#.*$/, ''))}`

/** Loads the person and the sites. Opens the sign-in page if no person is signed in. */
export async function loadSession(): Promise<Problem | undefined> {
  try {
    const { data } = await send(client.GET('/api/auth/me'))
    me.value = data
    const listed = await send(client.GET('/api/sites'))
    sites.value = listed.data
    return undefined
  } catch (problem) {
    const known = problem as Problem
    if (known.status === 401) location.assign(signInAddress())
    return known
  }
}

export async function signOut(): Promise<void> {
  await send(client.POST('/api/auth/logout'))
  location.assign(`${root.href}sign-in`)
}

/** The title of the page in the browser's tab. */
export const pageTitle = (view: string): string => [view, site.value?.name, 'readership'].filter(Boolean).join(' · ')
