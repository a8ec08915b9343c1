import { send } from './hit.js'
import { on } from './quietly.js'

const PREFIX = 'data-readership-'
/** What a link leads to that is taken away rather than read. */
const FILE = /\.(7z|csv|dmg|docx?|epub|exe|iso|mov|mp[34]|msi|odt|pdf|pptx?|rar|t?gz|txt|wav|xlsx?|zip)$/i

/** `data-readership-event="Signup" data-readership-plan="pro"`: an event and its properties. */
const sendNamed = (element: Element): void => {
  const named: Record<string, string> = {}
  for (const { name, value } of element.attributes) {
    const [, key] = name.split(PREFIX)
    if (key) named[key] = value
  }
  const { event, ...p } = named
  if (event) send('custom', { n: event, p })
}

/** Any click that opens something: the first button, the middle one, or a key on what has the focus. */
const click = (event: MouseEvent): void => {
  if (event.button > 1) return
  let link: HTMLAnchorElement | undefined
  let named: Element | undefined
  // The path, as a link in a shadow tree is no ancestor of what the window sees as the target.
  for (const node of event.composedPath()) {
    if (node instanceof HTMLAnchorElement) link = link || node
    if (node instanceof Element && node.hasAttribute(`${PREFIX}event`)) named = named || node
  }
  // A form's event is its submission. The middle button does nothing where there is no link.
  if (named && !(named instanceof HTMLFormElement) && (link || !event.button)) sendNamed(named)
  if (!link || !/^http/.test(link.href)) return
  const p = { url: link.href }
  if (FILE.test(link.pathname) || link.hasAttribute('download')) send('file_download', { p })
  else if (link.host !== location.host) send('outbound', { p })
}

const submit = ({ target }: SubmitEvent): void => {
  if (!(target instanceof HTMLFormElement)) return
  // Attributes, as a field called `id` or `action` is what the form's property of that name gives.
  const of = (name: string) => target.getAttribute(name)
  const form = of('id') || of('name') || new URL(of('action') || location.href, document.baseURI).pathname
  send('form', { p: { form } })
  sendNamed(target)
}

export const watchClicks = (): void => {
  on('click', click)
  on('auxclick', click)
  on('submit', submit)
}
