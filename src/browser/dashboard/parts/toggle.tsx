import { useEffect, useState } from 'preact/hooks'
import { forget } from '../state/data.js'
import { change } from '../state/records.js'
import { hasRole } from '../state/session.js'
import { t } from '../texts/index.js'
import { act } from './dialogs.js'

/** The lists of records that can be switched off. */
export type SwitchedList = '/api/alerts' | '/api/flags' | '/api/reports'

interface ToggleProps {
  /** The name of what is switched. */
  label: string
  list: SwitchedList
  /** The record: a second change is sent once the list has the first. */
  of: { id: number; version: number; enabled: boolean }
}

/** A switch that changes at once, before the server has stored it; if that fails, it goes back and a toast says why. */
export function Toggle({ label, list, of }: ToggleProps) {
  const { on: isOn, off: isOff } = t().settings.alerts
  const [chosen, setChosen] = useState<boolean>()
  const [busy, setBusy] = useState(false)
  // The choice stands until the list has it, or shows what another member chose.
  useEffect(() => {
    setChosen(undefined)
    setBusy(false)
  }, [of.version])
  const shown = chosen ?? of.enabled
  if (!hasRole('member')) return shown ? isOn : isOff
  const turn = async () => {
    setChosen(!shown)
    setBusy(true)
    const stored = await act(() => change(list, of, { enabled: !shown }))
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
        onChange={() => void turn()}
      />
      <span aria-hidden="true">{shown ? isOn : isOff}</span>
    </label>
  )
}
