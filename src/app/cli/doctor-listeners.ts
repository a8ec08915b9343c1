import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { formatNumber } from '../../analytics/export/format.js'
import type { InstanceStatus } from '../../api/instance-status.js'
import { isLoopbackHost, parseTrust } from '../../base/address.js'
import type { Config } from '../config.js'
import { judgeExpiry } from './doctor-origin.js'
import { errorReason, type Finding, fail, ok, warn } from './finding.js'

/** A listener on this machine answers at once. */
const PROBE_TIMEOUT_MS = 3_000
/** Fewer requests may be probes and tries of the operator. */
const ENOUGH_REQUESTS = 20

/** Checks that a dashboard that other machines can open has HTTPS, which keeps passwords and session cookies secret. */
export function checkExposure(check: 'dashboard' | 'service', url: string | undefined, hasSite: boolean): Finding[] {
  if (url === undefined) return []
  const { protocol, hostname } = new URL(url)
  if (protocol === 'https:') return [ok(check, `${url} has HTTPS`)]
  if (isLoopbackHost(hostname)) return [ok(check, `${url} is open to this machine only`)]
  return [
    warn(
      check,
      `${url} is open to other machines without HTTPS: passwords and session cookies can be read on their way`,
      // `serve` has no site, and no TLS of its own.
      `${hasSite ? `${check === 'dashboard' ? 'Set --tls-cert and --tls-key' : 'Listen on --admin-host 127.0.0.1'}, or set` : 'Set'} --public-url to the https address of a server in front.`,
    ),
  ]
}

/** Checks that the listeners of a running server answer on this machine. A request below the base path becomes no row. */
export async function checkReach({ site, service }: NonNullable<InstanceStatus['listeners']>): Promise<Finding[]> {
  const { Agent, request } = await import('node:https')
  const plain = await import('node:http')
  const probe = (url: string) =>
    new Promise<void>((resolve, reject) => {
      const { hostname, port, protocol, pathname } = new URL(url)
      const options = { method: 'HEAD', path: `${pathname}/healthz`.replace('//', '/'), timeout: PROBE_TIMEOUT_MS }
      const host = hostname.replace(/^\[|\]$/g, '')
      const at = { ...options, port, host: host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host }
      // Any response will do, whatever its certificate: another check looks at that.
      const agent = new Agent({ rejectUnauthorized: false })
      const sent = protocol === 'https:' ? request({ ...at, agent }) : plain.request(at)
      sent.once('response', () => resolve()).once('error', reject)
      sent.once('timeout', () => sent.destroy(new Error('no response'))).once('close', () => agent.destroy())
      sent.end()
    })
  const checked = await Promise.all(
    [site, service].flatMap((url) =>
      url === undefined
        ? []
        : probe(url).then(
            () => ok('listener', `${url} responds`),
            (error) =>
              fail(
                'listener',
                `${url} does not respond on this machine (${errorReason(error)})`,
                'Look at the log of the instance; restart it if it hangs.',
              ),
          ),
    ),
  )
  return checked
}

/** Checks that the ports of a proxy that does not run are free. */
export async function checkPorts({ host, port, admin_host, admin_port }: Config): Promise<Finding[]> {
  const checked = await Promise.all(
    [
      { host, port, setting: '--port' },
      { host: admin_host, port: admin_port, setting: '--admin-port' },
    ].map(async ({ setting, ...at }): Promise<Finding[]> => {
      const reason = await tryListening(at)
      if (reason === undefined) return []
      const says = reason === 'EADDRINUSE' ? 'is in use by another program' : `cannot be used (${reason})`
      return [
        fail(
          'port',
          `${at.port} on ${at.host} ${says}: the proxy does not start`,
          `Choose another one with ${setting}.`,
        ),
      ]
    }),
  )
  const found = checked.flat()
  return found.length > 0 ? found : [ok('port', `${port} and ${admin_port} are free`)]
}

async function tryListening(at: { host: string; port: number }): Promise<string | undefined> {
  const server = createServer()
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(at, resolve)
    })
    return undefined
  } catch (error) {
    return errorReason(error)
  } finally {
    server.close()
  }
}

/** Checks when the certificate of the site's listener ends. */
export async function checkOwnCertificate(
  { tls_cert }: Pick<Config, 'tls_cert'>,
  now: () => number,
): Promise<Finding[]> {
  if (tls_cert === undefined) return []
  try {
    const { validTo } = new X509Certificate(await readFile(tls_cert))
    const mend = 'Renew it, write it to that file and send SIGHUP to readership.'
    return [judgeExpiry(new Date(validTo), tls_cert, now, mend)]
  } catch (error) {
    return [fail('certificate', `${tls_cert} cannot be used (${errorReason(error)})`, 'Correct --tls-cert.')]
  }
}

/** Checks that the requests of a running proxy name a hostname of a site: without one they become no row. */
export function checkHostnames({ stored, dropped }: InstanceStatus['rows']): Finding[] {
  const { unknown_host = 0 } = dropped
  if (unknown_host < ENOUGH_REQUESTS || unknown_host <= stored) return []
  return [
    warn(
      'hostnames',
      `${formatNumber(unknown_host)} requests named a hostname of no site, and ${formatNumber(stored)} rows are stored: most of the traffic is not counted`,
      'Name the hostnames of the site: readership sites list, then readership sites update 1 --domain www.example.com',
    ),
  ]
}

/**
 * Checks which address of a client is believed, and why: by `--trust-proxy`, and by the requests that a running proxy has
 * had.
 */
export function checkTrust(trust_proxy: readonly string[], requests: InstanceStatus['requests']): Finding {
  const check = 'client addresses'
  const trusted = trust_proxy.join(', ')
  const trust = parseTrust(trust_proxy)
  if (trust.ranges.some(([, bits]) => bits === 0))
    return fail(
      check,
      `--trust-proxy ${trusted} believes X-Forwarded-For of everyone: any client can claim any address, and pass for a verified agent`,
      'Name only your own proxies, as in --trust-proxy loopback or --trust-proxy 10.0.0.5.',
    )
  const { direct = 0, forwarded = 0, unnamed = 0, ignored = 0 } = requests?.addresses ?? {}
  const total = direct + forwarded + unnamed + ignored
  const peer = requests?.ignored_peer
  const n = formatNumber
  if (peer !== undefined)
    return warn(
      check,
      `${n(ignored)} of ${n(total)} requests named their client in X-Forwarded-For and were not believed: they come from ${peer}, and only ${trusted} is trusted. All of them count as one visitor at ${peer}`,
      `If ${peer} is your own proxy: --trust-proxy ${peer}`,
    )
  if (ignored >= ENOUGH_REQUESTS && ignored > total / 2)
    return warn(
      check,
      `${n(ignored)} of ${n(total)} requests named their client in X-Forwarded-For and were not believed: they come from public addresses, and only ${trusted} is trusted`,
      'If a CDN is in front, name its networks with --trust-proxy; otherwise clients made the header up.',
    )
  if (unnamed >= ENOUGH_REQUESTS && unnamed > total / 2)
    return warn(
      check,
      `${n(unnamed)} of ${n(total)} requests come from a trusted proxy (${trusted}) that names no client: all of them count as one visitor`,
      'Have the server in front send it; nginx: proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;',
    )
  const seen =
    total === 0
      ? ''
      : `; of ${n(total)} requests ${n(forwarded)} came that way, of the others the peer's own address is believed`
  return ok(check, `X-Forwarded-For is believed from ${trusted}: its last address that is not a proxy of these${seen}`)
}
