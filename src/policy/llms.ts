/** A link of llms.txt, resolved against the file's URL. */
export interface LlmsLink {
  title: string
  url: string
  notes?: string
  /** Not on the file's own hostname. */
  offsite: boolean
}

/** An llms.txt as parsed (llmstxt.org), tolerantly. */
export interface Llms {
  title?: string
  summary?: string
  sections: readonly { name: string; optional: boolean; links: readonly LlmsLink[] }[]
  problems: readonly { line?: number; problem: string }[]
  truncated: boolean
}
