/** Characters of the text that are sent as they are: enough to recognise its first line. */
const MAX_LINE = 120
/** A document with more elements is not described: its text takes the browser longer than 10 ms, and is not empty. */
const MAX_ELEMENTS = 3000

/**
 * Returns what the document shows once its scripts ran: the characters of its text without white space, the
 * numbers of links and headings, and the beginning of the text. The served HTML may have none of it. Returns undefined for
 * a large document.
 */
export const describeDocument = (): unknown[] | undefined => {
  if (document.all.length > MAX_ELEMENTS) return undefined
  // biome-ignore lint/performance/useDomNodeTextContent: text that is not shown does not count.
  const text = document.body.innerText.replace(/\s+/g, ' ').trim()
  const count = (selector: string) => document.querySelectorAll(selector).length
  return [text.replace(/ /g, '').length, count('a[href]'), count('h1,h2,h3,h4,h5,h6'), text.slice(0, MAX_LINE)]
}
