import { Diff } from '../../parts/diff.js'
import { More } from '../../parts/names.js'
import { Panel } from '../../parts/panel.js'
import { hrefTo, place, viewPath } from '../../state/address.js'
import { formatInstant } from '../../state/format.js'
import { envelope } from '../../state/question.js'
import { useVersions } from '../../state/versions.js'
import { t } from '../../texts/index.js'
import type { useAgentsOfPage } from './agents-of-page.js'

/** The newest change of robots.txt, and when the policy changed before. */
export function PageVersions({ agents }: { agents: ReturnType<typeof useAgentsOfPage> }) {
  const texts = t().pages.versions
  const hostname = agents.policy?.hostname
  const answer = useVersions(
    hostname === undefined ? undefined : { ...envelope('agent'), compare: undefined, filters: undefined, hostname },
  )
  const versions = answer.data ?? []
  const [newest, before] = versions.filter(({ kind }) => kind === 'robots')
  return (
    <Panel
      span={place.value.show === 'both' ? 7 : 12}
      title={texts.title}
      right={<More to="policy">{t().shell.view.policy}</More>}
      answers={[...agents.answers, answer]}
      empty={versions.length === 0}
      emptyText={texts.none}
    >
      {() => (
        <ol class="versions-line">
          {versions.slice(0, 6).map((version) => (
            <li
              key={`${version.kind} ${version.since}`}
              aria-current={version.until === undefined ? 'true' : undefined}
            >
              <div class="version-head">
                <a
                  href={hrefTo({
                    path: viewPath('policy'),
                    own: { hostname: hostname ?? '', version: `${version.kind}.txt ${version.since}` },
                  })}
                >
                  {formatInstant(version.since)}
                </a>
                <b>{version.kind}.txt</b>
                {version.until === undefined && <span class="muted small">{texts.inForce}</span>}
              </div>
              {version === newest && version.text !== undefined && before?.text !== undefined && (
                <Diff before={before.text} after={version.text} label={texts.changes(formatInstant(version.since))} />
              )}
            </li>
          ))}
        </ol>
      )}
    </Panel>
  )
}
