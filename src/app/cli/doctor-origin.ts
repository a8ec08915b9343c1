import { connect, type TLSSocket } from 'node:tls'
import { formatDuration } from '../../analytics/export/format.js'
import { isLoopbackHost } from '../../base/address.js'
import { allowedNonce } from '../../site/proxy/inject/content-security.js'
import { errorReason, type Finding, fail, MAX_CLOCK_SKEW_S, ok, warn } from './finding.js'

/** An origin or collector that takes longer counts as down. */
const TIMEOUT_MS = 5_000
/** A certificate that ends sooner should have been renewed. */
const RENEWAL_MS = 14 * 86_400_000

type Now = () => number

/** Checks the site: whether it responds, its clock, its certificate, its robots.txt and what its pages tell caches. */
export async function checkOrigin(url: string | undefined, inject: boolean, now: Now): Promise<Finding[]> {
  if (url === undefined)
    return [ok('origin', 'none, as for serve; for a proxy: readership doctor http://localhost:3000')]
  try {
    const before = now()
    const page = await request(url, '/', { headers: { accept: 'text/html,*/*;q=0.8' } })
    const took = now() - before
    await page.body?.cancel()
    return [
      page.status >= 500
        ? fail('origin', `${url} responds with ${page.status}`, 'The site itself fails: look at its log.')
        : ok('origin', `${url} responds with ${page.status} in ${took} ms`),
      checkClock(page.headers.get('date'), before, "the origin's"),
      ...(await checkCertificateOf(url, now)),
      ...checkPageHeaders(page, new URL(url), inject),
      await checkRobots(url),
    ]
  } catch (error) {
    const broken = (await checkCertificateOf(url, now)).filter(({ state }) => state === 'fail')
    const says = `${url} does not respond (${errorReason(error)}): visitors get an error page`
    return [fail('origin', says, 'Start the site, or correct the URL.'), ...broken]
  }
}

/** Checks the collector of a proxy that ships its rows: whether it responds, its clock and its certificate. */
export async function checkCollector(url: string, now: Now): Promise<Finding[]> {
  const check = 'collector'
  try {
    const before = now()
    // Without a signature it is refused, which shows that the endpoint is there.
    const response = await request(url, 'api/log/edge', { method: 'POST', body: '{}' })
    await response.body?.cancel()
    return [
      response.status === 404 || response.status >= 500
        ? fail(
            check,
            `${url} does not take rows (${response.status}): they wait on this disk`,
            'Correct --collector; where it passes the proxy of a site, start that one with --expose ingest.',
          )
        : ok(check, `${url} responds`),
      checkClock(response.headers.get('date'), before, "the collector's"),
      ...(await checkCertificateOf(url, now)),
      ...(new URL(url).protocol === 'http:' && !isLoopbackHost(new URL(url).hostname)
        ? [
            warn(
              check,
              `${url} has no HTTPS: addresses and user agents of visitors can be read on their way`,
              'Give the https URL of the collector, or of a server in front of it.',
            ),
          ]
        : []),
    ]
  } catch (error) {
    const broken = (await checkCertificateOf(url, now)).filter(({ state }) => state === 'fail')
    const says = `${url} does not respond (${errorReason(error)}): rows wait on this disk`
    return [fail(check, says, 'Start the collector, or correct --collector.'), ...broken]
  }
}

const request = (url: string, path: string, init: RequestInit = {}) =>
  fetch(new URL(path, url.endsWith('/') ? url : `${url}/`), {
    ...init,
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })

/** Compares a `Date` header, which has whole seconds, with this machine's clock. */
function checkClock(date: string | null, now: number, whose: string): Finding {
  const skew = date === null ? Number.NaN : Math.round(Math.abs(Date.parse(date) - now) / 1000)
  const check = whose === "the origin's" ? 'clock' : 'collector clock'
  if (Number.isNaN(skew)) return ok(check, `${new Date(now).toISOString()}; no Date header to compare with`)
  if (skew <= MAX_CLOCK_SKEW_S) return ok(check, `agrees with ${whose}`)
  return warn(
    check,
    `differs by ${formatDuration(skew)} from ${whose}: rows have the time of this clock`,
    'Set both by NTP: timedatectl set-ntp true.',
  )
}

async function checkRobots(url: string): Promise<Finding> {
  const response = await request(url, '/robots.txt')
  await response.body?.cancel()
  const type = response.headers.get('content-type') ?? 'no content type'
  if (response.status === 200 && /^text\/plain/i.test(type)) return ok('robots.txt', 'is served')
  if (response.status === 200)
    return warn('robots.txt', `is served as ${type}`, 'Serve it as text/plain, or agents may not read it.')
  return warn(
    'robots.txt',
    `responds with ${response.status}: every agent may fetch everything (RFC 9309 2.3.1.3)`,
    'Serve a robots.txt as text/plain; `User-agent: *` with an empty `Disallow:` allows all.',
  )
}

/** Checks the headers of a page for what hides views from the proxy or keeps the tracker out. */
function checkPageHeaders({ status, headers }: Response, { host, protocol }: URL, inject: boolean): Finding[] {
  if (status !== 200) return []
  const type = headers.get('content-type')
  if (type === null)
    return [
      warn(
        'pages',
        'the first page has no Content-Type: its views are not counted',
        'Send Content-Type: text/html; charset=utf-8 with pages.',
      ),
    ]
  if (!/^(text\/html|application\/xhtml\+xml)/i.test(type)) return []
  const caching = headers.get('cache-control') ?? ''
  const age = Number(/(?:^|[,\s])(?:max-age|s-maxage)\s*=\s*"?([1-9]\d*)/i.exec(caching)?.[1] ?? 0)
  const findings: Finding[] = []
  if (age > 0 && !inject)
    findings.push(
      warn(
        'pages',
        `caches may show the first page for ${formatDuration(age)} (Cache-Control: ${caching}): such views never reach the proxy`,
        'Send Cache-Control: no-cache with pages, or let the tracker count them: --inject.',
      ),
    )
  if (inject && /(?:^|,)\s*no-transform\s*(?:,|$)/i.test(caching))
    findings.push(
      warn(
        'pages',
        'the first page has Cache-Control: no-transform: the tracker is not added to it',
        'Remove no-transform, or put the script tag into the page yourself.',
      ),
    )
  const policies = ['content-security-policy', 'content-security-policy-report-only'].flatMap(
    (name) => headers.get(name) ?? [],
  )
  const scheme = protocol === 'https:' ? 'https' : 'http'
  if (inject && allowedNonce(policies, { scheme, host }) === undefined)
    findings.push(
      warn(
        'pages',
        'the Content-Security-Policy of the first page blocks the tracker: it is not added',
        "Add 'self' to its script-src and connect-src.",
      ),
    )
  return findings.length > 0 ? findings : [ok('pages', 'headers of the first page hide no views')]
}

/** Checks the certificate of an https URL; nothing for http. */
async function checkCertificateOf(url: string, now: Now): Promise<Finding[]> {
  const { protocol, hostname, port, host } = new URL(url)
  if (protocol !== 'https:') return []
  const check = 'certificate'
  const certificate = await inspectCertificate(hostname.replace(/^\[|\]$/g, ''), Number(port || 443))
  if (!certificate) return []
  if (certificate.problem !== undefined)
    return [
      fail(
        check,
        `${host} has one that is not accepted (${certificate.problem}): the proxy gets no response from it`,
        'Renew it, or name its authority in NODE_EXTRA_CA_CERTS.',
      ),
    ]
  return [judgeExpiry(certificate.expires, host, now, 'Renew it at that server.')]
}

/** Judges when a certificate ends. */
export function judgeExpiry(expires: Date, name: string, now: Now, mend: string): Finding {
  const left = expires.getTime() - now()
  const day = expires.toISOString().slice(0, 10)
  if (left < 0) return fail('certificate', `that of ${name} ended on ${day}: browsers refuse it`, mend)
  return left < RENEWAL_MS
    ? warn('certificate', `that of ${name} ends on ${day}, in ${Math.floor(left / 86_400_000)} days`, mend)
    : ok('certificate', `that of ${name} is valid until ${day}`)
}

/** Returns when a server's certificate ends, and why it is not accepted if it is not; undefined without a connection. */
async function inspectCertificate(host: string, port: number) {
  const socket = await new Promise<TLSSocket | undefined>((resolve) => {
    const servername = /^[\d.]+$|:/.test(host) ? {} : { servername: host }
    // The certificate is looked at, and nothing is sent.
    const opened = connect({ host, port, ...servername, rejectUnauthorized: false })
    opened.setTimeout(TIMEOUT_MS, () => opened.destroy())
    opened.once('secureConnect', () => resolve(opened)).once('error', () => resolve(undefined))
    opened.once('close', () => resolve(undefined))
  })
  if (!socket) return undefined
  const { valid_to } = socket.getPeerCertificate()
  const problem = socket.authorized ? undefined : String(socket.authorizationError)
  socket.destroy()
  return { expires: new Date(valid_to), ...(problem !== undefined && { problem }) }
}
