import { Panel } from '../../parts/panel.js'
import { hrefTo, place, viewPath } from '../../state/address.js'
import { formatInstant } from '../../state/format.js'
import { t } from '../../texts/index.js'
import type { useAgentsOfPage } from './agents-of-page.js'

/** When the site's policy changed. */
export function PageVersions({ agents }: { agents: ReturnType<typeof useAgentsOfPage> }) {
  const texts = t().pages.versions
  const versions = agents.policy?.versions ?? []
  return (
    <Panel
      span={place.value.show === 'both' ? 7 : 12}
      title={texts.title}
      right={
        <a class="more" href={hrefTo({ path: viewPath('policy') })}>
          {t().pages.may.policy}
        </a>
      }
      answers={agents.answers}
      empty={versions.length === 0}
      emptyText={texts.none}
    >
      {() => (
        <ul class="versions">
          {versions.slice(0, 6).map(({ kind, fetched_at }) => (
            <li key={`${kind} ${fetched_at}`}>
              {formatInstant(fetched_at)} <span class="muted small">{kind}.txt</span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}
