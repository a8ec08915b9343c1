import { readFileSync, statSync } from 'node:fs'

/** The site's ingest key, wherever it is kept. It is in no message of ours. */
export interface Key {
  /** As it is now. */
  current(): string
  /** Looks again, whether or not the file seems changed; true where the key is another. */
  renew(): boolean
}

export const givenKey = (key: string): Key => ({ current: () => key, renew: () => false })

/**
 * A key in a file, which is read again when it changed. Throws one line that names the file where it cannot be read or holds
 * no key; later such a file leaves the last key in use.
 */
export function keyFile(path: string, log: { warn(details: object, message: string): void }): Key {
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
    throw new Error(`The ingest key cannot be read from ${path}: ${whyOf(error)}.`)
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
        log.warn({ file: path }, `the ingest key cannot be read again, the last one is used: ${whyOf(error)}`)
      failing = true
      return false
    }
  }
  return {
    current() {
      look(false)
      return key
    },
    renew: () => look(true),
  }
}

const whyOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : error instanceof Error ? error.message : 'unknown'
