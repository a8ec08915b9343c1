import { go, place } from '../state/address.js'
import { t } from '../texts/index.js'
import { LinkButton } from './buttons.js'

/** The page number in the address, from 1. */
export const pageNumber = (): number => Math.max(1, Math.trunc(Number(place.value.own.page)) || 1)

/** Links to the page before and after; nothing if there is one page. */
export function Paging({ total, limit }: { total: number | undefined; limit: number }) {
  const page = pageNumber()
  const pages = Math.max(1, Math.ceil((total ?? 0) / limit))
  if (pages <= 1 && page === 1) return null
  const turn = (to: number) => go({ own: { ...place.value.own, page: to === 1 ? '' : `${to}` } })
  return (
    <nav class="paging">
      <LinkButton disabled={page <= 1} onClick={() => turn(page - 1)}>
        {t().parts.back}
      </LinkButton>
      <span>{t().parts.page(page, pages)}</span>
      <LinkButton disabled={page >= pages} onClick={() => turn(page + 1)}>
        {t().parts.next}
      </LinkButton>
    </nav>
  )
}
