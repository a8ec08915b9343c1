import type { Target } from './head.js'
import type { Client, Page } from './page.js'
import { Placement } from './placement.js'
import { changedFields, changedTrailers, lengthOf } from './response.js'

/** A page without a content coding. Where the tag's place is in its first part, its length stays known. */
export class PlainPage implements Page {
  readonly #placement: Placement
  #begun = false
  #changed = false

  constructor(
    readonly fields: readonly string[],
    target: Target,
    readonly client: Client,
  ) {
    this.#placement = new Placement(target)
  }

  begin(): void {
    if (this.#begun) return
    this.#begun = true
    const { placed, added } = this.#placement
    const before = lengthOf(this.fields)
    this.#changed = placed !== false
    if (this.#changed) {
      const after = placed === true && before !== undefined ? before + added : undefined
      this.client.head(changedFields(this.fields, after), after !== undefined)
    } else this.client.head(this.fields, before !== undefined)
  }

  write(part: Buffer): boolean {
    const now = this.#placement.push(part)
    this.begin()
    return now.length === 0 || this.client.body(now)
  }

  end(trailers: [string, string][]): void {
    const rest = this.#placement.end()
    this.begin()
    if (rest.length > 0) this.client.body(rest)
    this.client.end(this.#changed ? changedTrailers(trailers) : trailers)
  }

  drained(): void {
    this.client.more()
  }

  leave(): void {}
}
