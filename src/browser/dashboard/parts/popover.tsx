import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { place } from '../state/address.js'

interface PopoverProps {
  /** The button's content and its name for screen readers. */
  button: ComponentChildren
  label?: string
  class?: string
  /** A list of choices; otherwise a form. */
  menu?: boolean
  /** Drawn while it is open; `close` hides it. */
  children: (close: () => void) => ComponentChildren
  id?: string
}

/** A button with a native popover below it. The browser closes it on Esc, and on a click elsewhere. */
export function Popover({ button, label, class: classes, menu, children, id: given }: PopoverProps) {
  const made = useId()
  const id = given ?? made
  const opener = useRef<HTMLButtonElement>(null)
  const box = useRef<HTMLDivElement>(null)
  const [isOpen, setOpen] = useState(false)
  const close = () => box.current?.hidePopover()
  const moveBelow = () => {
    const at = opener.current?.getBoundingClientRect()
    const element = box.current
    if (!at || !element) return
    const left = Math.max(8, Math.min(at.left, document.body.clientWidth - element.offsetWidth - 8))
    element.style.left = `${left}px`
    element.style.top = `${Math.max(8, Math.min(at.bottom + 4, innerHeight - element.offsetHeight - 8))}px`
  }
  // Its content is drawn, and may change, after it opens.
  useEffect(() => {
    if (!isOpen || !box.current) return
    const watch = new ResizeObserver(moveBelow)
    watch.observe(box.current)
    return () => watch.disconnect()
  }, [isOpen])
  // The bar stays when one of a menu's links opens another view.
  const path = place.value.path.join('/')
  useEffect(close, [path])
  return (
    <>
      <button
        type="button"
        ref={opener}
        class={classes}
        popovertarget={id}
        aria-haspopup={menu ? 'menu' : 'dialog'}
        {...(label === undefined ? {} : { 'aria-label': label })}
      >
        {button}
      </button>
      <div
        id={id}
        ref={box}
        popover="auto"
        class={menu ? 'popover menu' : 'popover'}
        onBeforeToggle={(event) => event.newState === 'open' && setOpen(true)}
        onToggle={(event) => {
          if (event.newState !== 'open') return setOpen(false)
          moveBelow()
          box.current?.querySelector<HTMLElement>('[autofocus], button, a, input, select')?.focus()
        }}
        onKeyDown={(event) => {
          // In a field of a date these keys change the day.
          if (!menu || event.target instanceof HTMLInputElement) return
          if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
          event.preventDefault()
          const items = [...(box.current?.querySelectorAll<HTMLElement>('button, a') ?? [])]
          const now = items.findIndex((item) => item.isSameNode(document.activeElement))
          items.at((now + (event.key === 'ArrowDown' ? 1 : -1)) % items.length)?.focus()
        }}
      >
        {isOpen && children(close)}
      </div>
    </>
  )
}
