import { signal } from '@preact/signals'
import { sharedSite } from './address.js'
import { client, isProblem, type Problem, send, sessionEndedAt } from './client.js'
import { shareSlug } from './question.js'
import { sites } from './session.js'
import { share } from './shared-scopes.js'

/** The slug of a link that waits for its password. */
export const lockedShare = signal<string | undefined>(undefined)

const tokenKey = (slug: string): string => `readership.share.${slug}`

function storedToken(slug: string): string | undefined {
  try {
    return sessionStorage.getItem(tokenKey(slug)) ?? undefined
  } catch {
    return undefined
  }
}

/**
 * Loads what a share link opens. The link's site becomes the one site, and every read carries the slug, or the token that
 * the password gave.
 */
export async function loadShare(slug: string): Promise<Problem | undefined> {
  const credential = storedToken(slug) ?? slug
  try {
    const { data } = await send(
      client.GET('/api/share/{slug}', { params: { path: { slug }, query: { share: credential } } }),
    )
    if (!data.site || !data.scopes) {
      lockedShare.value = slug
      share.value = undefined
      return undefined
    }
    lockedShare.value = undefined
    sessionEndedAt.value = undefined
    shareSlug.value = credential
    share.value = { name: data.name ?? '', scopes: data.scopes }
    sites.value = [data.site]
    sharedSite.value = data.site.id
    return undefined
  } catch (error) {
    if (isProblem(error)) return error
    throw error
  }
}

/** Opens a link with its password. Throws a `Problem` if it is wrong. */
export async function unlockShare(slug: string, password: string): Promise<Problem | undefined> {
  const { data } = await send(
    client.POST('/api/share/{slug}/unlock', { params: { path: { slug } }, body: { password } }),
  )
  try {
    sessionStorage.setItem(tokenKey(slug), data.token)
  } catch {}
  return loadShare(slug)
}
