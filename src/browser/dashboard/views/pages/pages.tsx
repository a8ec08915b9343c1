import '../../styles/pages.css'
import { view } from '../../state/address.js'
import { OnePage } from './one-page.js'
import { PageList } from './page-list.js'

/** All pages, or the page that the address names: `pages/%2Fpricing`. */
export default function Pages() {
  const pathname = view.value[1]
  return pathname === undefined ? <PageList /> : <OnePage key={pathname} pathname={pathname} />
}
