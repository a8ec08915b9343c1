import { useState } from 'preact/hooks'
import { isProblem } from '../state/client.js'
import { formatTime } from '../state/format.js'
import { load, type RecordList } from '../state/records.js'
import { t } from '../texts/index.js'
import { PlainButton } from './buttons.js'

interface Versioned {
  id: number
  version?: number
}

/**
 * Saves over the version that the reader saw, so that two people who change a record at once lose nothing. If another
 * member was faster, `newer` has that member's record, and the reader chooses: keep the own input, which saves over it,
 * or take the other one. `record` is as the reader opened it; undefined: a new one.
 */
export function useVersion<R extends Versioned>(
  list: RecordList | '/api/sites' | undefined,
  record: R | undefined,
  save: (version: number | undefined, fields: FormData) => Promise<void>,
) {
  const [newer, setNewer] = useState<{ record: R; at: Date }>()
  const [version, setVersion] = useState(record?.version)
  const store = async (fields: FormData): Promise<void> => {
    setNewer(undefined)
    try {
      await save(version, fields)
    } catch (error) {
      // A conflict that names a field, such as a name that is taken, is the form's own.
      const isConflict = isProblem(error) && error.status === 409 && error.field === undefined
      if (!isConflict || !list || !record || version === undefined) throw error
      const found = await load<R>(list, record.id)
      setNewer({ record: found, at: new Date() })
      setVersion(found.version)
    }
  }
  return { newer, store, settle: () => setNewer(undefined) }
}

interface NewerVersionProps<R extends Versioned> {
  edit: ReturnType<typeof useVersion<R>>
  /** A record in words. */
  summary: (record: R) => string
  onTake: (record: R) => void
}

/**
 * Says that another member changed the record meanwhile, shows that change, and asks which one to keep. It stands in the
 * form, which is submitted again to keep the own input.
 */
export function NewerVersion<R extends Versioned>({ edit, summary, onTake }: NewerVersionProps<R>) {
  const texts = t().parts.newer
  if (!edit.newer) return null
  const { record, at } = edit.newer
  return (
    <div class="absent newer" role="alert">
      <span />
      <div>
        <p>{texts.text(formatTime(at))}</p>
        <p dir="auto">
          <b>{texts.theirs}</b> {summary(record).slice(0, 500)}
        </p>
        <div class="buttons">
          <button type="submit" class="button">
            {texts.keep}
          </button>
          <PlainButton
            onClick={() => {
              onTake(record)
              edit.settle()
            }}
          >
            {texts.take}
          </PlainButton>
        </div>
      </div>
    </div>
  )
}
