import type { TagTarget } from './head-inspector.js'
import type { Page, PageClient } from './page.js'
import { changedFields, changedTrailers, contentLength } from './page-head.js'
import { TagInserter } from './tag-inserter.js'

/** A page without a content coding. If its head ends in its first part, its length stays known. */
export class PlainPage implements Page {
  readonly #inserter: TagInserter
  #headSent = false
  #changed = false

  constructor(
    readonly fields: readonly string[],
    target: TagTarget,
    readonly client: PageClient,
  ) {
    this.#inserter = new TagInserter(target)
  }

  flushHead(): void {
    if (this.#headSent) return
    this.#headSent = true
    const { inserted, addedBytes } = this.#inserter
    const length = contentLength(this.fields)
    this.#changed = inserted !== false
    if (this.#changed) {
      const newLength = inserted === true && length !== undefined ? length + addedBytes : undefined
      this.client.sendHead(changedFields(this.fields, newLength), newLength !== undefined)
    } else this.client.sendHead(this.fields, length !== undefined)
  }

  write(part: Buffer): boolean {
    const ready = this.#inserter.push(part)
    this.flushHead()
    return ready.length === 0 || this.client.sendBody(ready)
  }

  end(trailers: [string, string][]): void {
    const rest = this.#inserter.end()
    this.flushHead()
    if (rest.length > 0) this.client.sendBody(rest)
    this.client.end(this.#changed ? changedTrailers(trailers) : trailers)
  }

  onClientDrain(): void {
    this.client.resumeOrigin()
  }

  abandon(): void {}
}
