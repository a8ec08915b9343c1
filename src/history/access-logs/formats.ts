import { CADDY_CONSOLE } from './caddy-console.js'
import { CLOUDFRONT, W3C } from './columns.js'
import { COMBINED, COMMON, VHOST_COMBINED } from './combined.js'
import { CADDY, CLOUDFLARE, CLOUDFRONT_JSON, NAMED_JSON, TRAEFIK_JSON, VERCEL } from './json.js'
import { AWS_ALB, HAPROXY, TRAEFIK } from './load-balancers.js'
import type { LogFormat } from './log-format.js'

/** Every format that is detected; of those that fit the same number of lines the first wins. */
export const LOG_FORMATS: readonly LogFormat[] = [
  COMMON,
  TRAEFIK,
  COMBINED,
  VHOST_COMBINED,
  ...[CADDY, CADDY_CONSOLE, TRAEFIK_JSON, CLOUDFLARE, VERCEL, CLOUDFRONT_JSON, NAMED_JSON],
  ...[W3C, CLOUDFRONT, AWS_ALB, HAPROXY],
]
