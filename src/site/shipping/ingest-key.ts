import { readFileSync, statSync } from 'node:fs'

/** The source of the site's ingest key. The key never appears in a message. */
export interface KeySource {
  /** Returns the current key. */
  current(): string
  /** Reads the key again, even if the file looks unchanged; returns whether the key changed. */
  reload(): boolean
}

export const createFixedKey = (key: string): KeySource => ({ current: () => key, reload: () => false })

/**
 * Reads the key from a file, again whenever the file changes. Throws an error of one line that names the file if it cannot
 * be read or holds no key. If that happens later, the last key stays in use.
 */
export function watchKeyFile(path: string, log: { warn(details: object, message: string): void }): KeySource {
  const read = (): string => {
    const key = readFileSync(path, 'utf8').trim()
    if (key === '' || /\s/.test(key)) throw new Error(key === '' ? 'it is empty' : 'it holds more than a key')
    return key
  }
  const stamp = (): string => {
    const { mtimeMs, size, ino, mode } = statSync(path)
    return `${mtimeMs} ${size} ${ino} ${mode}`
  }
  let key: string
  let seen: string
  try {
    seen = stamp()
    key = read()
    if (statSync(path).mode & 0o044) log.warn({ file: path }, 'the ingest key can be read by other users: chmod 600')
  } catch (error) {
    throw new Error(`The ingest key cannot be read from ${path}: ${describeError(error)}.`)
  }
  let failing = false
  const look = (always: boolean): boolean => {
    try {
      const now = stamp()
      if (now === seen && !always) return false
      const before = key
      key = read()
      seen = now
      failing = false
      return key !== before
    } catch (error) {
      if (!failing)
        log.warn(
          { file: path },
          `the ingest key cannot be read again, so the last one stays in use: ${describeError(error)}`,
        )
      failing = true
      return false
    }
  }
  return {
    current() {
      look(false)
      return key
    },
    reload: () => look(true),
  }
}

const describeError = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : error instanceof Error ? error.message : 'unknown'
