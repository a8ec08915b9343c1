import type { TagTarget } from './head-inspector.js'
import type { Page, PageClient } from './page.js'
import { changedFields, changedTrailers, contentLength } from './page-response.js'
import { TagInserter } from './tag-inserter.js'

/** A page without a content coding. Where the tag's place is in its first part, its length stays known. */
export class PlainPage implements Page {
  readonly #placement: TagInserter
  #begun = false
  #changed = false

  constructor(
    readonly fields: readonly string[],
    target: TagTarget,
    readonly client: PageClient,
  ) {
    this.#placement = new TagInserter(target)
  }

  flushHead(): void {
    if (this.#begun) return
    this.#begun = true
    const { placed, added } = this.#placement
    const before = contentLength(this.fields)
    this.#changed = placed !== false
    if (this.#changed) {
      const after = placed === true && before !== undefined ? before + added : undefined
      this.client.sendHead(changedFields(this.fields, after), after !== undefined)
    } else this.client.sendHead(this.fields, before !== undefined)
  }

  write(part: Buffer): boolean {
    const now = this.#placement.push(part)
    this.flushHead()
    return now.length === 0 || this.client.sendBody(now)
  }

  end(trailers: [string, string][]): void {
    const rest = this.#placement.end()
    this.flushHead()
    if (rest.length > 0) this.client.sendBody(rest)
    this.client.end(this.#changed ? changedTrailers(trailers) : trailers)
  }

  onClientDrain(): void {
    this.client.resumeOrigin()
  }

  abandon(): void {}
}
