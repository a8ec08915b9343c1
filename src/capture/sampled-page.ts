/** A page as the origin sent it, to a client that sent neither cookies nor credentials. */
export interface SampledPage {
  /** Lower case, without the port. */
  hostname: string
  /** Byte for byte as requested. */
  pathname: string
  /** When the request arrived, epoch ms. */
  at: number
  /** The user agent names itself as that of a program; else a person's browser asked for the page. */
  is_agent: boolean
  content_type: string
  /** The content coding of `body`; empty for none. */
  coding: string
  /** The response's strong validator, if it has one. */
  validator?: string | undefined
  /** As sent, still compressed. Absent: the validator is that of the sample before for such a client, so the page is the same. */
  body?: Uint8Array
}

/** Receives samples; the bytes are its own. */
export type OnSampledPage = (page: SampledPage) => void
