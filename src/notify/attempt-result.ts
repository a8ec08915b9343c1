/** What became of one attempt to deliver; `permanent`: no later one is made. */
export type AttemptResult =
  | { readonly taken: true }
  | { readonly taken: false; readonly error: string; readonly permanent?: boolean; readonly retry_after_ms?: number }
