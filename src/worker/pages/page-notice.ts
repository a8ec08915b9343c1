/** A notice in place of a page's content, with status 200: it does not exist, or asks for consent or a proof. */
export type PageNotice = 'not_found' | 'consent' | 'challenge'

/** Characters above which a page has content of its own, whatever stands above it. */
const MAX_NOTICE_CHARACTERS = 1_500

/** Texts of titles, headings and first lines, in the languages that most pages are in. */
const NOTICES: readonly (readonly [PageNotice, RegExp])[] = [
  [
    'not_found',
    /^(?:error |fehler |erreur )?404\b|\b404 (?:error|not found|page)|\b(?:page|site|url|article|product|document|file|content|resource) (?:was |is |could |can)?(?:not|n[o’']t)(?: be)? (?:found|available|exist)|nicht gefunden|existiert nicht|(?:page|produit|article) introuvable|(?:página|pagina|producto|artículo) no (?:encontrad|existe)|no encontrad[ao]|non (?:è stat[ao] )?trovat[ao]|não (?:foi )?encontrad[ao]|niet gevonden|nie znaleziono|ikke fundet|ikke funnet|hittades inte|ei löytynyt|не найден[ао]?|見つかりません|找不到(?:页面|頁面|网页|網頁)|页面不存在|찾을 수 없/iu,
  ],
  [
    'consent',
    /before you (?:continue|proceed)|we value your privacy|your privacy (?:choices|matters)|cookie (?:consent|preferences|settings)|bevor sie (?:fortfahren|weiterlesen)|ihre privatsphäre|mit werbung (?:und tracking )?weiterlesen|cookie-einstellungen|avant de continuer|votre vie privée|antes de continuar|su privacidad|prima di continuare|la tua privacy|voordat je verdergaat|verify your age|are you (?:over|at least) \d\d/iu,
  ],
  [
    'challenge',
    /just a moment|checking your browser|attention required|verify(?:ing)? (?:that )?you are (?:a )?human|are you a robot|access denied|einen moment(?:,| bitte)|überprüfung ihres browsers|sind sie ein (?:mensch|roboter)|un instant|vérification de votre navigateur|request blocked|enable cookies/iu,
  ],
]

/**
 * Returns the notice in the title or first line of a short page; null if it has none.
 * A page of more than 1,500 characters has content, so a banner above it does not count.
 */
export function findNotice(page: {
  title: string | null
  first_line: string | null
  text_length: number
}): PageNotice | null {
  if (page.text_length > MAX_NOTICE_CHARACTERS) return null
  const said = [page.title, page.first_line].filter((line) => line !== null)
  return NOTICES.find(([, pattern]) => said.some((line) => pattern.test(line)))?.[0] ?? null
}
