import type { Incoming } from '../response-writer.js'

/** Fields by which scripts ask for a part of a page that they put into another (htmx, Turbo, pjax, Unpoly, Inertia). */
const FRAGMENT_REQUEST_HEADERS = [
  'hx-request',
  'turbo-frame',
  'x-pjax',
  'x-pjax-container',
  'x-up-version',
  'x-inertia',
  'x-livewire',
]

/** Whether a GET may be a person's navigation, whose answer is shown as a document of its own. */
export function isNavigation({ headers }: Incoming): boolean {
  const destination = headers['sec-fetch-dest']
  if (destination !== undefined && destination !== 'document') return false
  if (headers.range !== undefined) return false
  const by = headers['x-requested-with']
  // A web view of Android names its application there, `com.example.app`: that is a person's.
  if (typeof by === 'string' && !by.includes('.')) return false
  return !FRAGMENT_REQUEST_HEADERS.some((name) => headers[name] !== undefined)
}
