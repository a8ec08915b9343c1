import { send } from './send.js'
import { listen } from './swallow-errors.js'

const PREFIX = 'data-readership-'
/** Extensions of files that are downloaded rather than read. */
const FILE = /\.(7z|csv|dmg|docx?|epub|exe|iso|mov|mp[34]|msi|odt|pdf|pptx?|rar|t?gz|txt|wav|xlsx?|zip)$/i

/** Finds the nearest element on the composed path: the target that the window sees hides a link inside a shadow tree. */
const find = <E extends Element>(event: Event, selector: string): E | undefined =>
  event.composedPath().find((node): node is E => node instanceof Element && node.matches(selector))

/** Sends the event that an element declares: `data-readership-event="Signup" data-readership-plan="pro"`. */
const sendDeclaredEvent = (element: Element): void => {
  const declared: Record<string, string> = {}
  for (const { name, value } of element.attributes) {
    const [, key] = name.split(PREFIX)
    if (key) declared[key] = value
  }
  const { event, ...p } = declared
  if (event) send({ t: 'custom', n: event, p })
}

/** Handles any click that opens something: the first or middle button, or a key on the focused element. */
const onClick = (event: MouseEvent): void => {
  if (event.button > 1) return
  const link = find<HTMLAnchorElement>(event, 'a')
  const declared = find(event, `[${PREFIX}event]`)
  // A form sends its event on submission. The middle button does nothing without a link.
  if (declared && !declared.matches('form') && (link || !event.button)) sendDeclaredEvent(declared)
  if (!link || !/^http/.test(link.href)) return
  const isDownload = FILE.test(link.pathname) || link.matches('[download]')
  if (isDownload || link.host !== location.host)
    send({ t: isDownload ? 'file_download' : 'outbound', p: { url: link.href } })
}

const onSubmit = (event: SubmitEvent): void => {
  const form = find(event, 'form')
  if (!form) return
  // Attributes, because a field called `id` or `action` hides the form's property of that name.
  const name =
    form.getAttribute('id') ||
    form.getAttribute('name') ||
    new URL(form.getAttribute('action') || location.href, document.baseURI).pathname
  send({ t: 'form', p: { form: name } })
  sendDeclaredEvent(form)
}

/** Sends clicks on links and declared elements, and form submissions. */
export const watchClicks = (): void => {
  listen('click', onClick)
  listen('auxclick', onClick)
  listen('submit', onSubmit)
}
