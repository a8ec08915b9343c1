import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

/** A text that survives a restart. */
export interface PrivateFile {
  /** Returns the file's text; undefined if there is no file yet. */
  read(): string | undefined
  /** Replaces the file's text, all or nothing. */
  write(text: string): void
}

/** Opens a file that only its owner may read. It is replaced in one step, so a crash leaves the old or the new one. */
export function openPrivateFile(path: string): PrivateFile {
  return {
    read() {
      try {
        return readFileSync(path, 'utf8')
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
        throw error
      }
    },
    write(text) {
      const part = openSync(`${path}.part`, 'w', 0o600)
      try {
        // Unlike `writeSync`, it writes all or throws.
        writeFileSync(part, text)
        fsyncSync(part)
      } finally {
        closeSync(part)
      }
      renameSync(`${path}.part`, path)
    },
  }
}
