import { HeadEndSearch } from './head-end.js'
import { HeadInspector, type TagTarget } from './head-inspector.js'
import { MAX_TAG_BYTES, NOT_FOUND, type Search, type Step } from './search.js'
import { XhtmlSearch } from './xhtml.js'

/** Bytes of a page within which its head has to end. Styles written into pages make heads of 100 KB. */
const MAX_HEAD_BYTES = 512 * 1024

/** Bytes read at once: most heads end early, and what is behind is not looked at. */
const READ_STEP_BYTES = 8 * 1024

/** Puts the tag into a page that comes in parts; what is not the tag stays byte for byte. */
export class TagInserter {
  /** Undefined while it is looked for; then whether the tag is in. */
  placed: boolean | undefined
  readonly #head: HeadInspector
  readonly #search: Search
  #kept: Buffer = Buffer.alloc(0)
  #read = 0

  constructor(target: TagTarget) {
    this.#head = new HeadInspector(target)
    this.#search = target.xml ? new XhtmlSearch(this.#head) : new HeadEndSearch(this.#head)
  }

  /** Bytes of the tag, where it is in. */
  added = 0

  /** The part that may go on now. */
  push(part: Buffer): Buffer {
    const parts: Buffer[] = []
    let at = 0
    while (this.placed === undefined && at < part.length) {
      const next = part.subarray(at, at + READ_STEP_BYTES)
      at += next.length
      this.#read += next.length
      parts.push(this.#step(this.#kept.length === 0 ? next : Buffer.concat([this.#kept, next]), false))
    }
    if (at === 0) return part
    parts.push(part.subarray(at))
    return Buffer.concat(parts)
  }

  /** Nothing follows: what is left. */
  end(): Buffer {
    return this.placed === undefined ? this.#step(this.#kept, true) : Buffer.alloc(0)
  }

  /** A fault of ours is a page without the tag, not a site without the page. */
  #look(bytes: Buffer, last: boolean): Step & { near: boolean; tag?: string | undefined } {
    try {
      const step = this.#search.read(bytes.toString('latin1'), last)
      const near = this.#read - bytes.length + step.flow <= MAX_HEAD_BYTES
      return { ...step, near, tag: step.found === 'here' && near ? this.#head.scriptTag() : undefined }
    } catch {
      return { ...NOT_FOUND, near: false }
    }
  }

  #step(bytes: Buffer, last: boolean): Buffer {
    const { found, flow, near, tag } = this.#look(bytes, last)
    if (tag !== undefined) {
      const inserted = Buffer.from(tag, 'latin1')
      this.placed = true
      this.added = inserted.length
      return Buffer.concat([bytes.subarray(0, flow), inserted, bytes.subarray(flow)])
    }
    if (last || found !== 'not yet' || !near || bytes.length - flow > MAX_TAG_BYTES) {
      this.placed = false
      return bytes
    }
    this.#kept = bytes.subarray(flow)
    return bytes.subarray(0, flow)
  }
}
