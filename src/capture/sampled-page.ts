/** A page as the origin sent it, to a client that sent neither cookies nor credentials. */
export interface SampledPage {
  /** Lower case, without the port. */
  hostname: string
  /** Byte for byte as requested. */
  pathname: string
  /** When the request arrived, epoch ms. */
  at: number
  content_type: string
  /** The content coding of `body`; empty for none. */
  coding: string
  /** As sent, still compressed. Absent: the validator is that of the sample before, so the page is the same. */
  body?: Uint8Array
}

/** Receives samples; the bytes are its own. */
export type OnSampledPage = (page: SampledPage) => void
