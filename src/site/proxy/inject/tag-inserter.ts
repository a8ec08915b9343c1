import { HeadEndSearch, MAX_TAG_BYTES, NOT_FOUND, type SearchStep } from './head-end.js'
import { HeadInspector, type TagTarget } from './head-inspector.js'

/** Bytes of a page within which its head must end. Inline styles make heads of 100 KB. */
const MAX_HEAD_BYTES = 512 * 1024

/** Bytes to read at once: most heads end early, and the rest need not be looked at. */
const READ_STEP_BYTES = 8 * 1024

/** Inserts the script tag into a page that comes in parts. All other bytes stay as they are. */
export class TagInserter {
  /** Whether the tag is in the page; undefined while its place is searched. */
  inserted: boolean | undefined
  /** Bytes of the inserted tag. */
  addedBytes = 0
  readonly #inspector: HeadInspector
  readonly #search: HeadEndSearch
  #kept: Buffer = Buffer.alloc(0)
  #readBytes = 0

  constructor(target: TagTarget) {
    this.#inspector = new HeadInspector(target)
    this.#search = new HeadEndSearch(this.#inspector)
  }

  /** Takes a part of the page. Returns the bytes that may be sent now. */
  push(part: Buffer): Buffer {
    const ready: Buffer[] = []
    let at = 0
    while (this.inserted === undefined && at < part.length) {
      const next = part.subarray(at, at + READ_STEP_BYTES)
      at += next.length
      this.#readBytes += next.length
      ready.push(this.#step(this.#kept.length === 0 ? next : Buffer.concat([this.#kept, next]), false))
    }
    if (at === 0) return part
    ready.push(part.subarray(at))
    return Buffer.concat(ready)
  }

  /** Ends the page. Returns the bytes that are left. */
  end(): Buffer {
    return this.inserted === undefined ? this.#step(this.#kept, true) : Buffer.alloc(0)
  }

  /** Searches on. A fault in this code leaves the page without the tag, but never the site without the page. */
  #read(bytes: Buffer, last: boolean): SearchStep & { inLimit: boolean; tag?: string | undefined } {
    try {
      const step = this.#search.read(bytes.toString('latin1'), last)
      const inLimit = this.#readBytes - bytes.length + step.passed <= MAX_HEAD_BYTES
      return { ...step, inLimit, tag: step.found === 'here' && inLimit ? this.#inspector.scriptTag() : undefined }
    } catch {
      return { ...NOT_FOUND, inLimit: false }
    }
  }

  #step(bytes: Buffer, last: boolean): Buffer {
    const { found, passed, inLimit, tag } = this.#read(bytes, last)
    if (tag !== undefined) {
      const tagBytes = Buffer.from(tag, 'latin1')
      this.inserted = true
      this.addedBytes = tagBytes.length
      return Buffer.concat([bytes.subarray(0, passed), tagBytes, bytes.subarray(passed)])
    }
    if (last || found !== 'not yet' || !inLimit || bytes.length - passed > MAX_TAG_BYTES) {
      this.inserted = false
      return bytes
    }
    this.#kept = bytes.subarray(passed)
    return bytes.subarray(0, passed)
  }
}
