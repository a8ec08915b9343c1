/** The page's origin, from which the script comes and to which it sends. */
export interface ScriptOrigin {
  scheme: 'http' | 'https'
  /** The page's `Host`, with the port if it names one. */
  host: string
}

type Directives = ReadonlyMap<string, readonly string[]>

/**
 * Returns the nonce that a script of the page's own origin needs under these policies (empty for none), or undefined if
 * one of them would block it, block what it sends, or report it (CSP3 6.7). A report-only policy counts like an enforced
 * one, or the site's owner would get reports about the script. `policies` are values of `Content-Security-Policy`, each
 * with any number of policies.
 */
export function allowedNonce(policies: readonly string[], origin: ScriptOrigin): string | undefined {
  let nonces: Set<string> | undefined
  for (const policy of policies.flatMap((value) => value.split(','))) {
    const directives = parseDirectives(policy)
    if (directives.has('sandbox') || directives.has('require-sri-for')) return undefined
    const connect = directives.get('connect-src') ?? directives.get('default-src')
    if (connect !== undefined && !allowsOwnOrigin(connect, origin)) return undefined
    const script = directives.get('script-src-elem') ?? directives.get('script-src') ?? directives.get('default-src')
    if (script === undefined || (allowsOwnOrigin(script, origin) && !script.includes("'strict-dynamic'"))) continue
    const policyNonces = new Set(script.flatMap((source) => NONCE.exec(source)?.[1] ?? []))
    nonces = nonces === undefined ? policyNonces : new Set([...nonces].filter((nonce) => policyNonces.has(nonce)))
    if (nonces.size === 0) return undefined
  }
  return nonces?.values().next().value ?? ''
}

const NONCE = /^'nonce-([A-Za-z0-9+/_-]+={0,2})'$/i

function parseDirectives(policy: string): Directives {
  const directives = new Map<string, readonly string[]>()
  for (const directive of policy.split(';')) {
    const [name = '', ...sources] = directive.trim().split(/[\t\n\f\r ]+/)
    const lower = name.toLowerCase()
    // A nonce is the only source whose case matters. Of directives with the same name, the first counts.
    if (!directives.has(lower))
      directives.set(
        lower,
        sources.map((source) => (NONCE.test(source) ? source : source.toLowerCase())),
      )
  }
  return directives
}

const allowsOwnOrigin = (sources: readonly string[], origin: ScriptOrigin): boolean =>
  sources.some((source) => source === "'self'" || source === '*' || matchesOrigin(source, origin))

const SOURCE = /^(?:(https?):)?(?:\/\/)?(\*\.)?([a-z0-9.-]*|\[[0-9a-f:]+\])(?::(\d+|\*))?\/?$/

/** Returns whether a scheme or host source covers the page's origin. A source with a path counts as not covering it. */
function matchesOrigin(source: string, { scheme, host }: ScriptOrigin): boolean {
  const [, sourceScheme, wildcard, name = '', port] = SOURCE.exec(source) ?? []
  if (sourceScheme !== undefined && sourceScheme !== scheme && sourceScheme !== 'http') return false
  if (name === '') return sourceScheme !== undefined && wildcard === undefined && port === undefined
  const [, hostname = '', ownPort = ''] = /^(.*?)(?::(\d+))?$/.exec(host.toLowerCase()) ?? []
  const defaultPort = scheme === 'https' ? '443' : '80'
  if (port !== '*' && (port ?? defaultPort) !== (ownPort || defaultPort)) return false
  return wildcard === undefined ? hostname === name : hostname.endsWith(`.${name}`)
}
