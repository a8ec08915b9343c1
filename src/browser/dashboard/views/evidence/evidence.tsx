import { useState } from 'preact/hooks'
import type { DataOf } from '../../client/index.js'
import { PlainButton } from '../../parts/buttons.js'
import { act } from '../../parts/dialogs.js'
import { Fact, Facts } from '../../parts/facts.js'
import { Choose } from '../../parts/fields.js'
import { Panel, Sentence, Sheet } from '../../parts/panel.js'
import { go, hrefTo, place, root, viewPath } from '../../state/address.js'
import { openResponse } from '../../state/client.js'
import { forget, type Result, useRead } from '../../state/data.js'
import { formatNumber } from '../../state/format.js'
import { envelope, siteQuery } from '../../state/question.js'
import { hasRole } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { later } from '../../texts/later.js'

type Preview = DataOf<'/api/evidence'>

/** Chooses an agent, shows what a folder about it would state, and makes the folder. */
export default function Evidence() {
  const { shell, units } = t()
  const texts = later().evidence
  const { audience: _, compare: _compare, filters: _filters, segment: _segment, ...asked } = envelope('agent')
  const violators = useRead('/api/policy/violations/agents', { ...asked, limit: 100 })
  const agent = place.value.own.agent || violators.data?.[0]?.agent_id
  const question = agent === undefined ? undefined : { ...asked, agent }
  const preview = useRead('/api/evidence', question)
  const { data, meta: _meta, ...rest } = preview
  const withoutMeta = { ...rest, data }
  // Spoofed fetches have a row of their own, and are in no folder.
  const named = [...new Map((violators.data ?? []).map(({ agent_id, name }) => [agent_id, name]))]
  const isNamed = agent === undefined || named.some(([id]) => id === agent)
  const choices = isNamed ? named : [[agent, data?.agent.name ?? agent] as const, ...named]
  return (
    <Sheet title={shell.view.evidence}>
      <Sentence answers={[withoutMeta]}>
        {() =>
          data &&
          texts.sentence(
            <b>{data.agent.name}</b>,
            units.fetches(data.counts.fetches),
            formatNumber(data.counts.after_reading),
          )
        }
      </Sentence>
      <Panel
        title={texts.title}
        right={
          choices.length > 0 && (
            <label>
              <span class="muted">{texts.agent}</span>{' '}
              <Choose value={agent} choices={choices} onChoose={(id) => go({ own: { agent: id } })} />
            </label>
          )
        }
        answers={agent === undefined ? [violators] : [preview]}
        empty={!violators.loading && agent === undefined}
        emptyText={texts.none}
        skeleton={12}
      >
        {() =>
          data &&
          question && <Folder key={JSON.stringify(question)} preview={preview} data={data} question={question} />
        }
      </Panel>
    </Sheet>
  )
}

interface FolderProps {
  preview: Result<'/api/evidence'>
  data: Preview
  question: Readonly<Record<string, string | number | undefined>>
}

/** The statements of a folder, and the buttons that make it: both files are of the one folder that the first press made. */
function Folder({ preview, data, question }: FolderProps) {
  const { parts } = t()
  const texts = later().evidence
  const { statements, limits, agent } = data
  const isAgent = { dimension: 'agent_id', op: 'is', value: agent.agent_id }
  const [made, setMade] = useState<Blob>()
  const [isBusy, setBusy] = useState(false)
  const save = (ending: 'json' | 'pdf') =>
    act(async () => {
      setBusy(true)
      try {
        const folder = made ?? (await post('api/evidence', JSON.stringify(question), 'application/json'))
        setMade(folder)
        if (made === undefined) forget('/api/evidence')
        const file = ending === 'json' ? folder : await post(`api/evidence/pdf?site=${siteQuery.value.site}`, folder)
        saveAs(file, `evidence-${agent.agent_id}.${ending}`)
      } finally {
        setBusy(false)
      }
    }, texts.saved)
  return (
    <>
      <Facts>
        <Fact name={texts.fingerprint}>
          {preview.meta?.fingerprint ? <span class="mono fingerprint">{preview.meta.fingerprint}</span> : texts.noKey}
        </Fact>
      </Facts>
      <Statements title={texts.states} of={statements} />
      <Statements title={texts.cannotTell} of={limits} />
      {hasRole('member') ? (
        <div class="buttons">
          {(['json', 'pdf'] as const).map((ending) => (
            <PlainButton key={ending} disabled={isBusy} onClick={() => void save(ending)}>
              {texts[ending]}
            </PlainButton>
          ))}
          <a class="more" href={hrefTo({ path: viewPath('violations'), own: { by: 'all' }, filters: [isAgent] })}>
            {texts.fetches}
          </a>
        </div>
      ) : (
        <p class="muted">{parts.needsRole('member')}</p>
      )}
      <p class="foot">{texts.foot}</p>
    </>
  )
}

/** Sentences of the folder, which are English in every language. */
const Statements = ({ title, of }: { title: string; of: readonly string[] }) => (
  <>
    <h3>{title}</h3>
    <ol class="statements" lang="en">
      {of.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ol>
  </>
)

/** Posts a body and returns the file that comes back. Throws a `Problem`. */
async function post(path: string, body: BodyInit, type = 'application/vnd.readership.evidence+json'): Promise<Blob> {
  const init = { method: 'POST', headers: { 'content-type': type }, body }
  return (await openResponse(new URL(path, root).href, init)).blob()
}

function saveAs(file: Blob, name: string): void {
  const link = Object.assign(document.createElement('a'), { href: URL.createObjectURL(file), download: name })
  link.click()
  URL.revokeObjectURL(link.href)
}
