import { allowedNonce, type ScriptOrigin } from './content-security.js'
import { decodeReferences } from './html-tag.js'
import type { HeadReader } from './search.js'

/** A page that may get the tag. */
export interface TagTarget extends ScriptOrigin {
  /** The address of the script, as an absolute path. */
  src: string
  /** Values of `Content-Security-Policy` in the response's head, also of the one that only reports. */
  policies: readonly string[]
  /** It is XHTML. */
  xml: boolean
}

/** Reads a page's own head for what forbids our tag there, or decides how it is written. */
export class HeadInspector implements HeadReader {
  readonly #policies: string[]
  /** What the address of every form of our script has in it: its hash and its site may differ. */
  readonly #ours: string

  constructor(readonly target: TagTarget) {
    this.#policies = [...target.policies]
    this.#ours = target.src.slice(0, target.src.lastIndexOf('/script') + '/script'.length)
  }

  allowsTag(name: string, attributes: ReadonlyMap<string, string>): boolean {
    switch (name) {
      case 'html':
        // AMP allows no script but its own (U+26A1, read as latin1).
        return ![...attributes.keys()].some((key) => /^(?:amp|\xe2\x9a\xa1)/.test(key))
      case 'script':
        return !decodeReferences(attributes.get('src') ?? '').includes(this.#ours)
      case 'base':
        return this.#here(decodeReferences(attributes.get('href') ?? '').trim())
      case 'meta':
        if (attributes.get('http-equiv')?.toLowerCase() === 'content-security-policy')
          this.#policies.push(withoutSandbox(decodeReferences(attributes.get('content') ?? '')))
        return true
      default:
        return true
    }
  }

  /** The tag; undefined where a policy would block it. */
  scriptTag(): string | undefined {
    const { src, xml } = this.target
    const nonce = allowedNonce(this.#policies, this.target)
    if (nonce === undefined) return undefined
    const escaped = src.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
    return `<script defer${xml ? '="defer"' : ''} src="${escaped}"${nonce === '' ? '' : ` nonce="${nonce}"`}></script>`
  }

  /** Whether paths on this base stay on the page's own host: on another one our script would not be there. */
  #here(href: string): boolean {
    const authority = /^(?:[a-z][a-z0-9+.-]*:)?[\\/]{2}([^\\/?#]*)/i.exec(href)
    if (authority !== null) return authority[1]?.toLowerCase() === this.target.host.toLowerCase()
    return !/^[a-z][a-z0-9+.-]*:/i.test(href)
  }
}

/** In a page it says nothing (CSP3 3.3). */
const withoutSandbox = (policy: string): string => policy.replaceAll(/(^|[;,])\s*sandbox\b[^;,]*/gi, '$1')
