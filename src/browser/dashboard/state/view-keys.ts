/** The acts of the view on screen by key, such as `n` and `t` on a chart; the view registers and removes them. */
const acts = new Map<string, () => void>()

/** Gives a key to a view. Returns the function that takes it back. */
export function onKey(key: string, run: () => void): () => void {
  acts.set(key, run)
  return () => {
    if (acts.get(key) === run) acts.delete(key)
  }
}

/** Returns the act that a view gave to a key. */
export const actOf = (key: string): (() => void) | undefined => acts.get(key)
