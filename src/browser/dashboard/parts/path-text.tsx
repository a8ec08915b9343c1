import type { ComponentChildren } from 'preact'
import { shownPath, tailOf } from '../state/path-name.js'

const MAX_BREAKS = 20

/** Lets a path break after its slashes, where names wrap: on phones. */
const breakable = (text: string): ComponentChildren => {
  const parts = text.split(/(?<=.\/)/)
  return parts.length <= MAX_BREAKS ? parts.map((part, i) => [i > 0 && <wbr key={i} />, part]) : text
}

/** A path for people to read. Where it is too long its middle goes, because its end tells it apart; the text stays whole. */
function PathText({ path }: { path: string }) {
  const shown = shownPath(path.slice(0, 500))
  const tail = tailOf(shown)
  return (
    <span class="path" dir="ltr">
      <i>{breakable(shown.slice(0, shown.length - tail.length))}</i>
      <b>{breakable(tail)}</b>
    </span>
  )
}

/** A text of any origin: a path as such, anything else as it is. */
export const AnyText = ({ text }: { text: string }) =>
  text.startsWith('/') ? <PathText path={text} /> : text.slice(0, 500)
