import { z } from 'zod'
import type { PrivateFile } from '../base/private-file.js'
import { sql } from '../storage/sql.js'
import type { Log, Records } from '../storage/store.js'

const RETRY_MS = 1_000
const Row = z.object({ content: z.string() })

/**
 * Opens the salts that several processes share, in the records. A write returns before it is stored, and is repeated until it
 * is: a process that is killed within that time leaves its successor without the salt of a period that has just begun.
 */
export async function openSharedSalts(records: Pick<Records, 'query' | 'write'>, log: Log): Promise<PrivateFile> {
  const [row] = await records.query(sql`select content from salts`)
  const content = row === undefined ? undefined : Row.parse(row).content
  let unwritten: string | undefined
  let isWriting = false

  const write = async (): Promise<void> => {
    while (unwritten !== undefined) {
      const text = unwritten
      try {
        await records.write(sql`delete from salts`, sql`insert into salts values (${text})`)
        if (unwritten === text) unwritten = undefined
      } catch (error) {
        log(
          'error',
          'the salts could not be written, which is repeated: another process would count visitors as new',
          error,
        )
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      }
    }
  }
  return {
    read: () => content,
    write(text) {
      unwritten = text
      if (isWriting) return
      isWriting = true
      void write().finally(() => {
        isWriting = false
      })
    },
  }
}
