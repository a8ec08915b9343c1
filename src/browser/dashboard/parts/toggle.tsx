import { useEffect, useState } from 'preact/hooks'
import { forget } from '../state/data.js'
import { hasRole } from '../state/session.js'
import { t } from '../texts/index.js'
import { act } from './dialogs.js'

interface ToggleProps {
  /** The name of what is switched. */
  label: string
  on: boolean
  /** The version of the record: a second change is sent once the list has the first. */
  version: number
  /** The address of the list that it is in. */
  list: string
  /** Stores the change; a `Problem` that it throws takes the change back. */
  set: (on: boolean) => Promise<unknown>
}

/** A switch that changes at once, before the server has stored it; if that fails, it goes back and a toast says why. */
export function Toggle({ label, on, version, list, set }: ToggleProps) {
  const { on: isOn, off: isOff } = t().settings.alerts
  const [chosen, setChosen] = useState<boolean>()
  const [busy, setBusy] = useState(false)
  // The choice stands until the list has it, or shows what another member chose.
  useEffect(() => {
    setChosen(undefined)
    setBusy(false)
  }, [version])
  const shown = chosen ?? on
  if (!hasRole('member')) return shown ? isOn : isOff
  const change = async () => {
    setChosen(!shown)
    setBusy(true)
    const stored = await act(() => set(!shown))
    if (!stored) {
      setBusy(false)
      setChosen(undefined)
    }
    // Also after a failure, because another member may have changed the record.
    forget(list)
  }
  return (
    <label class="check" aria-busy={busy}>
      <input
        type="checkbox"
        role="switch"
        aria-label={label}
        checked={shown}
        onClick={(event) => busy && event.preventDefault()}
        onChange={() => void change()}
      />
      <span aria-hidden="true">{shown ? isOn : isOff}</span>
    </label>
  )
}
