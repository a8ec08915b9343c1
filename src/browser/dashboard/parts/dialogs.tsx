import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { isProblem, type Problem } from '../state/client.js'
import { t } from '../texts/index.js'
import { PlainButton } from './buttons.js'
import { type FieldProblem, FormProblems } from './fields.js'

interface DialogProps {
  title: string
  onClose: () => void
  /** For a dialog to read: it begins at its top, where the browser would scroll to its first button. */
  isText?: boolean
  children: ComponentChildren
}

/** A native modal dialog; open while it is rendered. Esc and the backdrop call `onClose`. */
export function Dialog({ title, onClose, isText = false, children }: DialogProps) {
  const box = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = box.current
    if (dialog && !dialog.open) dialog.showModal()
    if (dialog && isText) {
      dialog.focus()
      dialog.scrollTop = 0
    }
    return () => dialog?.close()
  }, [])
  return (
    <dialog
      ref={box}
      aria-label={title}
      tabIndex={-1}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => event.target === box.current && onClose()}
    >
      <h2>{title}</h2>
      {children}
    </dialog>
  )
}

interface Toast {
  text: string
  action?: { label: string; run: () => void }
}
const toasts = signal<readonly Toast[]>([])

/** Shows a short message for six seconds. Returns a function that takes it away before. */
export function toast(text: string, action?: Toast['action']): () => void {
  const shown = action ? { text, action } : { text }
  toasts.value = [...toasts.value, shown]
  const remove = () => {
    toasts.value = toasts.value.filter((each) => each !== shown)
  }
  setTimeout(remove, 6_000)
  return remove
}

/** Says a problem in words. The API's sentence about a lacking credential is for programs and their keys. */
const wordsOf = ({ code, field, message }: Problem): string => {
  const own = t().parts.problem[code]
  return (code === 'unauthorized' && field === undefined ? own : message) || (own ?? code)
}

/** After this time a reader wants to know that the server is being waited for. */
const SLOW_MS = 400

/**
 * Runs what a button does and says how it went; `done` is left out if the page itself shows it. Returns whether it
 * succeeded.
 */
export async function act(run: () => Promise<unknown>, done?: string): Promise<boolean> {
  let remove = () => {}
  const slow = setTimeout(() => {
    remove = toast(t().parts.waiting)
  }, SLOW_MS)
  try {
    await run()
    if (done !== undefined) toast(done)
    return true
  } catch (error) {
    if (!isProblem(error)) throw error
    toast(wordsOf(error))
    return false
  } finally {
    clearTimeout(slow)
    remove()
  }
}

export const Toasts = () => (
  <div class="toasts" role="status" aria-live="polite">
    {toasts.value.map((each, i) => (
      <div class="toast" key={i}>
        <span>{each.text}</span>
        {each.action && (
          <button type="button" onClick={each.action.run}>
            {each.action.label}
          </button>
        )}
      </div>
    ))}
  </div>
)

interface FormProps {
  /** Sends the form. A `Problem` that it throws is shown, at its field if it names one; the input stays. */
  submit: (fields: FormData) => Promise<void>
  /** Faults that are known before it is sent. */
  problems?: readonly FieldProblem[] | undefined
  action: string
  danger?: boolean
  onCancel?: () => void
  /** The word for `onCancel`, if it is another than Cancel. */
  cancelLabel?: string
  children: ComponentChildren
}

/** A form that sends once, says what is wrong, and loses no input. */
export function Form(props: FormProps) {
  const { submit, problems = [], action, danger, onCancel, cancelLabel = t().parts.cancel, children } = props
  const [problem, setProblem] = useState<Problem>()
  const [busy, setBusy] = useState(false)
  const { parts } = t()
  const send = async (event: SubmitEvent) => {
    event.preventDefault()
    if (busy || !(event.currentTarget instanceof HTMLFormElement)) return
    setBusy(true)
    setProblem(undefined)
    try {
      await submit(new FormData(event.currentTarget))
    } catch (error) {
      if (!isProblem(error)) throw error
      setProblem(error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <form onSubmit={(event) => void send(event)}>
      <FormProblems.Provider value={problem ? [problem, ...problems] : problems}>{children}</FormProblems.Provider>
      {problem && (
        <p class="absent" role="alert">
          <span />
          <span>
            {wordsOf(problem)} {parts.lostEdit}
          </span>
        </p>
      )}
      <div class="buttons">
        <button type="submit" class={danger ? 'button danger' : 'button'} disabled={busy} aria-busy={busy}>
          {action}
        </button>
        {onCancel && <PlainButton onClick={onCancel}>{cancelLabel}</PlainButton>}
      </div>
    </form>
  )
}

interface ConfirmProps {
  title: string
  text: ComponentChildren
  action: string
  submit: () => Promise<void>
  onClose: () => void
}

/** Asks before something is deleted for good. */
export const Confirm = ({ title, text, action, submit, onClose }: ConfirmProps) => (
  <Dialog title={title} onClose={onClose}>
    <Form danger action={action} onCancel={onClose} submit={submit}>
      <p dir="auto">{text}</p>
    </Form>
  </Dialog>
)

/** Returns false where the browser offers no clipboard: without HTTPS, or without the permission. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}

/** A line of code with a button that copies it; where the browser forbids that, the button selects it. */
export function Code({ text }: { text: string }) {
  const [copied, setCopied] = useState(false)
  return (
    <div class="code">
      <span>{text}</span>
      <button
        type="button"
        onClick={(event) => {
          const words = event.currentTarget.previousElementSibling
          void copy(text).then((isCopied) => {
            setCopied(isCopied)
            if (isCopied) setTimeout(() => setCopied(false), 2_000)
            else if (words) getSelection()?.selectAllChildren(words)
          })
        }}
      >
        {copied ? t().parts.copied : t().parts.copy}
      </button>
    </div>
  )
}

interface SecretProps {
  title?: string
  text: string
  codes: readonly string[]
}

/** Something that is shown once, with a button that copies it. */
export const Secret = ({ title, text, codes }: SecretProps) => (
  <div class="secret">
    {title && <h3>{title}</h3>}
    <p class="muted">{text}</p>
    {codes.map((code) => (
      <Code key={code} text={code} />
    ))}
  </div>
)
