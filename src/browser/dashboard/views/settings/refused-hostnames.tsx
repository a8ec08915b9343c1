import { Code } from '../../parts/dialogs.js'
import { useRead } from '../../state/data.js'
import { site } from '../../state/session.js'
import { t } from '../../texts/index.js'

const RECENT_MS = 86_400_000

/** Says which hostname is refused most because the site does not list it, with the command that adds it: one after the other. */
export function RefusedHostnames() {
  const { id = 0, domains: known = [] } = site.value ?? {}
  // A site without a domain takes every hostname, and would take one alone after the command.
  const isAsked = id > 0 && known.length > 0
  const answer = useRead('/api/sites/{id}/refused-hostnames', isAsked ? {} : undefined, {
    params: { id },
    every: 5_000,
  })
  // The command names all domains, and the last one may have been added in a terminal.
  const sites = useRead('/api/sites', isAsked ? {} : undefined, { every: 5_000 })
  const domains = sites.data?.find((one) => one.id === id)?.domains ?? known
  const recent = answer.data?.find(({ last_at }) => Date.parse(last_at) > Date.now() - RECENT_MS)
  const hostname = recent?.hostname
  if (hostname === undefined) return null
  return (
    <div role="status">
      <p>{t().firstRun.refused(<b class="mono">{hostname}</b>)}</p>
      <Code
        text={`npx readership sites update ${id} ${[...domains, hostname].map((one) => `--domain ${one}`).join(' ')}`}
      />
    </div>
  )
}
