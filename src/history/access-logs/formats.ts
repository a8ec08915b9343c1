import { CLOUDFRONT, W3C } from './columns.js'
import { COMBINED, COMMON, VHOST_COMBINED } from './combined.js'
import { CADDY, CLOUDFLARE, CLOUDFRONT_JSON, NAMED_JSON, TRAEFIK_JSON, VERCEL } from './json.js'
import { AWS_ALB, HAPROXY, TRAEFIK } from './load-balancers.js'
import { defineFormat, type LogFormat } from './log-format.js'

const CONSOLE_LINE =
  /^(?<time>[^\t]{8,40})\t(?:debug|info|warn|error|dpanic|panic|fatal|DEBUG|INFO|WARN|ERROR)\t(?<logger>[^\t]*)(?:\t[^\t{]*)?(?:\t(?<fields>\{.*))?$/
/** Caddy's `console` encoder: time, level, logger and message, separated by tabs, then the fields as JSON. */
const CADDY_CONSOLE = defineFormat({
  name: 'caddy-console',
  title: 'Caddy, console',
  traits: 'have a time, a level, a logger and a message between tabs, and then Caddy’s JSON',
  createParser(options) {
    const parse = CADDY.createParser(options)
    return (line) => {
      const { time, logger, fields } = CONSOLE_LINE.exec(line)?.groups ?? {}
      if (time === undefined || logger === undefined) return undefined
      if (!logger.startsWith('http.log.access')) return 'skip'
      if (fields?.startsWith('{') !== true) return undefined
      return parse(`{"ts":${JSON.stringify(time)},${fields.slice(1)}`)
    }
  },
})

/** Every format that is detected; of those that fit the same number of lines the first wins. */
export const LOG_FORMATS: readonly LogFormat[] = [
  COMMON,
  TRAEFIK,
  COMBINED,
  VHOST_COMBINED,
  CADDY,
  CADDY_CONSOLE,
  TRAEFIK_JSON,
  CLOUDFLARE,
  VERCEL,
  CLOUDFRONT_JSON,
  NAMED_JSON,
  W3C,
  CLOUDFRONT,
  AWS_ALB,
  HAPROXY,
]
