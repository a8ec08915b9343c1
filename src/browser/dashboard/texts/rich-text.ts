/** A text with parts that are elements, such as links: `['Read ', <a>…</a>, '.']`. */
export type Parts = readonly unknown[]
