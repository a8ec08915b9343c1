import { decodeReferences } from '../../../base/html-tag.js'
import { allowedNonce, type ScriptOrigin } from './content-security.js'

/** A page that may get the script tag. */
export interface TagTarget extends ScriptOrigin {
  /** The script's address, as an absolute path. */
  src: string
  /** Values of `Content-Security-Policy` and its report-only form in the response's head. */
  policies: readonly string[]
}

/** Reads the tags in a page's head for reasons not to add the script tag, and for the nonce that it needs. */
export class HeadInspector {
  readonly #policies: string[]
  /** The part that all addresses of the script share: its hash and its site may differ. */
  readonly #scriptPath: string

  constructor(readonly target: TagTarget) {
    this.#policies = [...target.policies]
    this.#scriptPath = target.src.slice(0, target.src.lastIndexOf('/script') + '/script'.length)
  }

  /** Looks at one start tag of the head. Returns false if the page must stay as it is. */
  allowsTag(name: string, attributes: ReadonlyMap<string, string>): boolean {
    switch (name) {
      case 'html':
        // AMP allows only its own scripts (U+26A1, read as latin1).
        return ![...attributes.keys()].some((key) => /^(?:amp|\xe2\x9a\xa1)/.test(key))
      case 'script':
        return !decodeReferences(attributes.get('src') ?? '').includes(this.#scriptPath)
      case 'base':
        return this.#isOwnHost(decodeReferences(attributes.get('href') ?? '').trim())
      case 'meta':
        if (attributes.get('http-equiv')?.toLowerCase() === 'content-security-policy')
          this.#policies.push(withoutSandbox(decodeReferences(attributes.get('content') ?? '')))
        return true
      default:
        return true
    }
  }

  /** Returns the script tag; undefined if a policy would block it. */
  scriptTag(): string | undefined {
    const nonce = allowedNonce(this.#policies, this.target)
    if (nonce === undefined) return undefined
    const src = this.target.src.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
    return `<script defer src="${src}"${nonce === '' ? '' : ` nonce="${nonce}"`}></script>`
  }

  /** Returns whether paths on this base stay on the page's own host: another host does not serve the script. */
  #isOwnHost(href: string): boolean {
    const authority = /^(?:[a-z][a-z0-9+.-]*:)?[\\/]{2}([^\\/?#]*)/i.exec(href)
    if (authority !== null) return authority[1]?.toLowerCase() === this.target.host.toLowerCase()
    return !/^[a-z][a-z0-9+.-]*:/i.test(href)
  }
}

/** Removes `sandbox`, which has no effect in a `meta` element (CSP3 3.3). */
const withoutSandbox = (policy: string): string => policy.replaceAll(/(^|[;,])\s*sandbox\b[^;,]*/gi, '$1')
