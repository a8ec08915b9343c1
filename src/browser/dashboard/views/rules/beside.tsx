import { Fact, Facts } from '../../parts/facts.js'
import { root } from '../../state/address.js'
import { formatAgo, formatInstant } from '../../state/format.js'
import { siteQuery } from '../../state/question.js'
import { useRuleState } from '../../state/rules.js'
import { t } from '../../texts/index.js'

/** Lists what no rule refuses, and which version of the rules each process and sidecar has. */
export function Beside() {
  const texts = t().rules
  const { data } = useRuleState()
  return (
    <div class="cell span-4 beside-rules">
      <h2>{texts.neverRefused}</h2>
      <Facts>
        {texts.never.map(([text, when]) => (
          <Fact key={text} name={text}>
            <span class="muted small">{when}</span>
          </Fact>
        ))}
      </Facts>
      <h2>{texts.inForce}</h2>
      <Facts>
        {data?.fronts.map(({ name, kind, version, since, asked_at }) => (
          <Fact key={`${kind} ${name}`} name={name}>
            <span class={version === data.version ? 'muted small' : 'small'}>
              {version === data.version
                ? since && texts.since(formatInstant(since))
                : texts.behind(asked_at ? formatAgo(asked_at) : '')}
            </span>
          </Fact>
        ))}
      </Facts>
      {data?.fronts.length === 0 && <p class="muted small">{texts.noFront}</p>}
    </div>
  )
}

const SERVERS = { nginx: 'nginx', caddy: 'Caddy', apache: 'Apache', cloudflare: 'Cloudflare', robots: 'robots.txt' }

/** The rules as configuration of other servers. */
export function Elsewhere() {
  const texts = t().rules
  const address = (server: string) => `${root.href}api/rules/export?site=${siteQuery.value.site ?? ''}&for=${server}`
  return (
    <div class="cell buttons elsewhere-rules">
      <span class="muted">{texts.elsewhere}</span>
      {Object.entries(SERVERS).map(([server, name]) => (
        <a key={server} class="button plain" data-leave download href={address(server)}>
          {name}
        </a>
      ))}
      <span class="muted small">{texts.elsewhereFoot}</span>
    </div>
  )
}
