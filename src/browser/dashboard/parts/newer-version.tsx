import { useState } from 'preact/hooks'
import { isProblem } from '../state/client.js'
import { formatTime } from '../state/format.js'
import { t } from '../texts/index.js'

interface Versioned {
  version: number
}

/** The parts of an edit of a record, so that two people who change it at once lose nothing. */
interface EditProps<R extends Versioned> {
  /** The record as the reader opened it; undefined: a new one. */
  record: R | undefined
  /** Asks for the record as it is now. */
  load: () => Promise<R>
  /** Stores the reader's input over this version. */
  save: (version: number | undefined) => Promise<void>
}

/**
 * Saves over the version that the reader saw. If another member was faster, `newer` has that member's record, and the
 * reader chooses: keep the own input, which saves over it, or take the other one.
 */
export function useVersion<R extends Versioned>({ record, load, save }: EditProps<R>) {
  const [newer, setNewer] = useState<{ record: R; at: Date }>()
  const [version, setVersion] = useState(record?.version)
  const store = async (): Promise<void> => {
    setNewer(undefined)
    try {
      await save(version)
    } catch (error) {
      // A conflict that names a field, such as a name that is taken, is the form's own.
      if (!isProblem(error) || error.status !== 409 || error.field !== undefined || version === undefined) throw error
      const found = await load()
      setNewer({ record: found, at: new Date() })
      setVersion(found.version)
    }
  }
  return { newer, store, settle: () => setNewer(undefined) }
}

interface NewerVersionProps {
  at: Date
  /** The other record in words. */
  summary: string
  onTake: () => void
}

/**
 * Says that another member changed the record meanwhile, shows that change, and asks which one to keep. It stands in the
 * form, which is submitted again to keep the own input.
 */
export function NewerVersion({ at, summary, onTake }: NewerVersionProps) {
  const { newer } = t().parts
  return (
    <div class="absent newer" role="alert">
      <span />
      <div>
        <p>{newer.text(formatTime(at))}</p>
        <p dir="auto">
          <b>{newer.theirs}</b> {summary.slice(0, 500)}
        </p>
        <div class="buttons">
          <button type="submit" class="button">
            {newer.keep}
          </button>
          <button type="button" class="button plain" onClick={onTake}>
            {newer.take}
          </button>
        </div>
      </div>
    </div>
  )
}
