/** Where our script would stand, and what it asks for. */
export interface ScriptOrigin {
  scheme: 'http' | 'https'
  /** The page's `Host`, with the port where it names one. */
  host: string
}

type Directives = ReadonlyMap<string, readonly string[]>

/**
 * Whether the policies let a script of the page's own origin run and send to that origin: the nonce it has to carry,
 * empty for none; undefined where one of them would block it, or report it (CSP3 6.7). A policy that only reports is
 * taken at its word, or its owner would hear of us. `policies` are values of `Content-Security-Policy`, each with any
 * number of policies.
 */
export function allowedNonce(policies: readonly string[], setting: ScriptOrigin): string | undefined {
  let nonces: Set<string> | undefined
  for (const policy of policies.flatMap((value) => value.split(','))) {
    const directives = parseDirectives(policy)
    if (directives.has('sandbox') || directives.has('require-sri-for')) return undefined
    const connect = directives.get('connect-src') ?? directives.get('default-src')
    if (connect !== undefined && !allowsOwnOrigin(connect, setting)) return undefined
    const script = directives.get('script-src-elem') ?? directives.get('script-src') ?? directives.get('default-src')
    if (script === undefined || (allowsOwnOrigin(script, setting) && !script.includes("'strict-dynamic'"))) continue
    const own = new Set(script.flatMap((source) => NONCE.exec(source)?.[1] ?? []))
    nonces = nonces === undefined ? own : new Set([...nonces].filter((nonce) => own.has(nonce)))
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
    // A nonce is the one source whose case counts; the first directive of a name is the one that does.
    if (!directives.has(lower))
      directives.set(
        lower,
        sources.map((one) => (NONCE.test(one) ? one : one.toLowerCase())),
      )
  }
  return directives
}

const allowsOwnOrigin = (sources: readonly string[], setting: ScriptOrigin): boolean =>
  sources.some((source) => source === "'self'" || source === '*' || matchesOrigin(source, setting))

const SOURCE = /^(?:(https?):)?(?:\/\/)?(\*\.)?([a-z0-9.-]*|\[[0-9a-f:]+\])(?::(\d+|\*))?\/?$/

/** A scheme or a host that is the page's own; one with a path is not looked into. */
function matchesOrigin(source: string, { scheme, host }: ScriptOrigin): boolean {
  const [, wanted, below, name = '', port] = SOURCE.exec(source) ?? []
  if (wanted !== undefined && wanted !== scheme && wanted !== 'http') return false
  if (name === '') return wanted !== undefined && below === undefined && port === undefined
  const [, hostname = '', own = ''] = /^(.*?)(?::(\d+))?$/.exec(host.toLowerCase()) ?? []
  const usual = scheme === 'https' ? '443' : '80'
  if (port !== '*' && (port ?? usual) !== (own || usual)) return false
  return below === undefined ? hostname === name : hostname.endsWith(`.${name}`)
}
