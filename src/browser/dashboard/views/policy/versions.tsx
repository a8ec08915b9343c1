import { useEffect, useRef, useState } from 'preact/hooks'
import { Diff } from '../../parts/diff.js'
import { Panel } from '../../parts/panel.js'
import { Warnings } from '../../parts/states.js'
import { hrefTo, place, viewPath } from '../../state/address.js'
import { formatFullInstant, formatSeconds } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { envelope, obstacle } from '../../state/question.js'
import { useVersions, type Version } from '../../state/versions.js'
import { t } from '../../texts/index.js'

/** Every version of both files, newest first, with what changed and which agents have read it. */
export function Versions({ hostname }: { hostname: string | undefined }) {
  const texts = t().policy
  const answer = useVersions(
    hostname === undefined
      ? undefined
      : {
          ...envelope('agent'),
          ...(obstacle('agent') === undefined ? {} : { filters: undefined, segment: undefined }),
          compare: undefined,
          hostname,
        },
  )
  const versions = answer.data ?? []
  const [open, setOpen] = useState<string>()
  const newest = versions.find(({ kind }) => kind === 'robots')
  const linked = versions.find(isLinked)
  const shown = open ?? (linked ? keyOf(linked) : newest && keyOf(newest))
  return (
    <Panel
      title={texts.versions}
      aside={texts.versionsAside}
      answers={[answer]}
      empty={versions.length === 0}
      emptyText={texts.noneYet}
      skeleton={4}
    >
      {() => (
        <>
          <ol class="versions-line">
            {versions.map((version, i) => (
              <Entry
                key={keyOf(version)}
                version={version}
                before={versions.slice(i + 1).find(({ kind }) => kind === version.kind)}
                isOpen={shown === keyOf(version)}
                onToggle={() => setOpen(shown === keyOf(version) ? '' : keyOf(version))}
              />
            ))}
          </ol>
          <Warnings of={[answer.meta]} />
        </>
      )}
    </Panel>
  )
}

const keyOf = ({ kind, since }: Version): string => `${kind} ${since}`

/** Whether the address names this version, as the notes of changes do: `version=robots.txt 2026-11-11T15:00:00Z`. */
function isLinked({ kind, since }: Version): boolean {
  const [file, at = ''] = (place.value.own.version ?? '').split(' ')
  return file === `${kind}.txt` && Date.parse(at) === Date.parse(since)
}

interface EntryProps {
  version: Version
  before: Version | undefined
  isOpen: boolean
  onToggle: () => void
}

function Entry({ version, before, isOpen, onToggle }: EntryProps) {
  const texts = t().policy
  const { kind, since, until, standing, rules, groups, links, readers } = version
  const line = useRef<HTMLLIElement>(null)
  const linked = isLinked(version)
  useEffect(() => {
    if (linked) line.current?.scrollIntoView({ block: 'center' })
  }, [linked])
  const size =
    standing !== 'served'
      ? t().agents.standing[standing]
      : kind === 'robots' && rules !== undefined
        ? texts.size(rules, groups ?? 0)
        : links === undefined
          ? ''
          : texts.links(links)
  return (
    <li ref={line} aria-current={until === undefined ? 'true' : undefined}>
      <div class="version-head">
        <button type="button" aria-expanded={isOpen} onClick={onToggle}>
          {formatFullInstant(since)}
        </button>
        <b>{kind}.txt</b>
        <span class="muted small">
          {size}
          {size !== '' && until === undefined ? ', ' : ''}
          {until === undefined ? texts.inForce : ''}
        </span>
        {readers !== undefined && (
          <span class="muted small">{texts.readBy(quantity('/api/policy/versions readers', readers))}</span>
        )}
      </div>
      {isOpen && (
        <div class="two">
          <div>
            {version.text === undefined ? (
              <p class="foot">{standing === 'served' ? texts.textLeftOut : size}</p>
            ) : before === undefined ? (
              <Diff before="" after={version.text} label={texts.changes} />
            ) : before.text === undefined && before.standing === 'served' ? (
              <p class="foot">{texts.textLeftOut}</p>
            ) : (
              <Diff before={before.text ?? ''} after={version.text} label={texts.changes} />
            )}
          </div>
          <FirstReads version={version} />
        </div>
      )}
    </li>
  )
}

/** When each agent first read a version. */
function FirstReads({ version: { agents, since } }: { version: Version }) {
  const texts = t().policy
  if (agents === undefined) return null
  if (agents.length === 0) return <p class="muted">{texts.unreadVersion}</p>
  return (
    <ul class="first-reads">
      {agents.slice(0, 12).map(({ agent_id, name, first_read }) => (
        <li key={agent_id}>
          <a class="cut" href={hrefTo({ path: viewPath('agents', agent_id) })}>
            {name}
          </a>
          <span class="muted small" title={formatFullInstant(first_read)}>
            {texts.later(formatSeconds(Math.max(0, Date.parse(first_read) - Date.parse(since)) / 1_000))}
          </span>
        </li>
      ))}
    </ul>
  )
}
