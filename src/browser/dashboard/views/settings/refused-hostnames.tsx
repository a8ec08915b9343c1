import { Code } from '../../parts/dialogs.js'
import { useRead } from '../../state/data.js'
import { site } from '../../state/session.js'
import { t } from '../../texts/index.js'

const MAX_SHOWN = 3

/** Says which hostnames are refused because the site does not list them, each with the command that adds it. */
export function RefusedHostnames() {
  const { id = 0, domains = [] } = site.value ?? {}
  // A site without a domain takes every hostname, and would take one alone after the command.
  const isAsked = id > 0 && domains.length > 0
  const answer = useRead('/api/sites/{id}/refused-hostnames', isAsked ? {} : undefined, {
    params: { id },
    every: 5_000,
  })
  const refused = (answer.data ?? []).slice(0, MAX_SHOWN)
  if (refused.length === 0) return null
  return (
    <div role="status">
      {refused.map(({ hostname }) => (
        <div key={hostname}>
          <p>{t().firstRun.refused(<b class="mono">{hostname}</b>)}</p>
          <Code
            text={`readership sites update ${id} ${[...domains, hostname].map((one) => `--domain ${one}`).join(' ')}`}
          />
        </div>
      ))}
    </div>
  )
}
