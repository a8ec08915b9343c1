import { send } from './send.js'
import { listen } from './swallow-errors.js'

const PREFIX = 'data-readership-'
/** Extensions of files that are downloaded rather than read. */
const FILE = /\.(7z|csv|dmg|docx?|epub|exe|iso|mov|mp[34]|msi|odt|pdf|pptx?|rar|t?gz|txt|wav|xlsx?|zip)$/i

/** Sends the event that an element declares: `data-readership-event="Signup" data-readership-plan="pro"`. */
const sendDeclaredEvent = (element: Element): void => {
  const declared: Record<string, string> = {}
  for (const { name, value } of element.attributes) {
    const [, key] = name.split(PREFIX)
    if (key) declared[key] = value
  }
  const { event, ...p } = declared
  if (event) send('custom', { n: event, p })
}

/** Handles any click that opens something: the first or middle button, or a key on the focused element. */
const onClick = (event: MouseEvent): void => {
  if (event.button > 1) return
  let link: HTMLAnchorElement | undefined
  let declared: Element | undefined
  // The composed path, because the target that the window sees hides a link inside a shadow tree.
  for (const node of event.composedPath()) {
    if (node instanceof HTMLAnchorElement) link = link || node
    if (node instanceof Element && node.hasAttribute(`${PREFIX}event`)) declared = declared || node
  }
  // A form sends its event on submission. The middle button does nothing without a link.
  if (declared && !(declared instanceof HTMLFormElement) && (link || !event.button)) sendDeclaredEvent(declared)
  if (!link || !/^http/.test(link.href)) return
  const p = { url: link.href }
  if (FILE.test(link.pathname) || link.hasAttribute('download')) send('file_download', { p })
  else if (link.host !== location.host) send('outbound', { p })
}

const onSubmit = ({ target }: SubmitEvent): void => {
  if (!(target instanceof HTMLFormElement)) return
  // Attributes, because a field called `id` or `action` hides the form's property of that name.
  const attribute = (name: string) => target.getAttribute(name)
  const form =
    attribute('id') || attribute('name') || new URL(attribute('action') || location.href, document.baseURI).pathname
  send('form', { p: { form } })
  sendDeclaredEvent(target)
}

/** Sends clicks on links and declared elements, and form submissions. */
export const watchClicks = (): void => {
  listen('click', onClick)
  listen('auxclick', onClick)
  listen('submit', onSubmit)
}
