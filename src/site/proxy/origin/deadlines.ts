/** An object that acts when its time is over. */
export interface Timed {
  /** Called at each tick. */
  onTick(tick: number): void
}

/**
 * Counts time in ticks, for all connections with one timer: a timer or a look at the clock for each request would cost
 * more. It runs only while there is a connection. A stalled event loop stops it, so that nothing times out for our stall.
 */
export class Deadlines {
  #tick = 0
  #timer: NodeJS.Timeout | undefined
  readonly #all = new Set<Timed>()

  /** `intervalMs` is the time from one tick to the next. */
  constructor(readonly intervalMs: number) {}

  /** Returns the first tick at which at least `ms` have passed. */
  after = (ms: number): number => this.#tick + Math.ceil(ms / this.intervalMs) + 1

  /** Returns the last tick before `ms` have passed, or the next one. */
  before = (ms: number): number => this.#tick + Math.max(1, Math.floor(ms / this.intervalMs))

  add(one: Timed): void {
    this.#all.add(one)
    this.#timer ??= setInterval(() => this.#onTick(), this.intervalMs).unref()
  }

  remove(one: Timed): void {
    this.#all.delete(one)
    if (this.#all.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #onTick(): void {
    this.#tick += 1
    for (const one of this.#all) one.onTick(this.#tick)
  }
}
