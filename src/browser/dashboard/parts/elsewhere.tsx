import { root } from '../state/address.js'
import { siteQuery } from '../state/question.js'
import { t } from '../texts/index.js'

/** Servers that take what acts here as their configuration. */
const SERVERS = {
  rules: ['nginx', 'caddy', 'apache', 'haproxy', 'cloudflare', 'robots'],
  redirects: ['nginx', 'caddy', 'apache'],
} as const
const NAMES = {
  ...{ nginx: 'nginx', caddy: 'Caddy', apache: 'Apache', haproxy: 'HAProxy' },
  ...{ cloudflare: 'Cloudflare', robots: 'robots.txt' },
}

/** Links to the records of a list as configuration of other servers. */
export const Elsewhere = ({ of }: { of: keyof typeof SERVERS }) => (
  <span class="legend">
    {t().rules.elsewhere}
    {SERVERS[of].map((server) => (
      <a
        key={server}
        class="more"
        data-leave
        download
        href={`${root.href.replace(/\/$/, '')}/api/${of}/export?site=${siteQuery.value.site ?? 0}&for=${server}`}
      >
        {NAMES[server]}
      </a>
    ))}
  </span>
)
