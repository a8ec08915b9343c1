import { useState } from 'preact/hooks'
import type { DataOf } from '../../client/index.js'
import { PlainButton } from '../../parts/buttons.js'
import { column, countColumn } from '../../parts/columns.js'
import { DecidingLine } from '../../parts/deciding-line.js'
import { act } from '../../parts/dialogs.js'
import { Fact, Facts } from '../../parts/facts.js'
import { Choose } from '../../parts/fields.js'
import { Cut } from '../../parts/names.js'
import { Panel, Sentence, Sheet } from '../../parts/panel.js'
import { type Column, Table } from '../../parts/table.js'
import { go, place, root } from '../../state/address.js'
import { openResponse } from '../../state/client.js'
import { forget, type Result, useRead } from '../../state/data.js'
import { formatInstant, formatNumber } from '../../state/format.js'
import { envelope, siteQuery } from '../../state/question.js'
import { hasRole } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { later } from '../../texts/later.js'

type Preview = DataOf<'/api/evidence'>
const FIRST_ROWS = 10

/** Chooses an agent, shows what a folder about it would state, and makes the folder. */
export default function Evidence() {
  const { shell } = t()
  const texts = later().evidence
  const { audience: _, compare: _compare, filters: _filters, segment: _segment, ...asked } = envelope('agent')
  const violators = useRead('/api/policy/violations/agents', { ...asked, limit: 100 })
  const agent = place.value.own.agent || violators.data?.[0]?.agent_id
  const question = agent === undefined ? undefined : { ...asked, agent }
  const preview = useRead('/api/evidence', question)
  const { data, meta: _meta, ...rest } = preview
  const withoutMeta = { ...rest, data }
  const named = (violators.data ?? []).map(({ agent_id, name }) => [agent_id, name] as const)
  const isNamed = agent === undefined || named.some(([id]) => id === agent)
  const choices = isNamed ? named : [[agent, data?.agent.name ?? agent] as const, ...named]
  return (
    <Sheet title={shell.view.evidence}>
      <Sentence answers={[withoutMeta]}>{() => data && sentence(data)}</Sentence>
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
      <Panel span={5} title={texts.rules} answers={[preview]} empty={data?.rules.length === 0} emptyText={texts.noRule}>
        {() => data && <Table label={texts.rules} rows={data.rules} rowKey={ruleKey} columns={ruleColumns()} />}
      </Panel>
      <Panel
        span={7}
        title={texts.fetches}
        aside={data && texts.firstOf(Math.min(FIRST_ROWS, data.counts.listed), formatNumber(data.counts.fetches))}
        answers={[preview]}
        empty={data?.counts.fetches === 0}
        emptyText={texts.noFetch}
      >
        {() => data && <Table label={texts.fetches} {...rowsOf(data)} columns={fetchColumns()} />}
      </Panel>
    </Sheet>
  )
}

function sentence({ agent, counts }: Preview): readonly unknown[] {
  const { units } = t()
  const texts = later().evidence
  return texts.sentence(<b>{agent.name}</b>, units.fetches(counts.fetches), formatNumber(counts.after_reading))
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
  const { counts, statements, limits, agent } = data
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
        <Fact name={texts.disallowed}>{formatNumber(counts.disallowed)}</Fact>
        <Fact name={texts.inGrace}>{formatNumber(counts.in_grace)}</Fact>
        <Fact name={texts.refused}>{formatNumber(counts.refused)}</Fact>
        <Fact name={texts.afterReading}>{formatNumber(counts.after_reading)}</Fact>
        <Fact name={texts.leftOut}>{formatNumber(counts.left_out)}</Fact>
        <Fact name={texts.fingerprint}>
          {preview.meta?.fingerprint ? <span class="mono fingerprint">{preview.meta.fingerprint}</span> : texts.noKey}
        </Fact>
      </Facts>
      <h3>{texts.states}</h3>
      <ol class="statements" lang="en">
        {statements.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ol>
      <h3>{texts.cannotTell}</h3>
      <ol class="statements" lang="en">
        {limits.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ol>
      {hasRole('member') ? (
        <p>
          <PlainButton disabled={isBusy} onClick={() => void save('json')}>
            {texts.json}
          </PlainButton>{' '}
          <PlainButton disabled={isBusy} onClick={() => void save('pdf')}>
            {texts.pdf}
          </PlainButton>
        </p>
      ) : (
        <p class="muted">{parts.needsRole('member')}</p>
      )}
      <p class="foot">{texts.foot}</p>
    </>
  )
}

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

type Rule = Preview['rules'][number]
const ruleKey = ({ hostname, pattern, line, sha256, first }: Rule) => [hostname, pattern, line, sha256, first].join(' ')

function ruleColumns(): Column<Rule>[] {
  const texts = later().evidence
  return [
    column(texts.line, {}, ({ pattern, line, hostname, sha256 }) => (
      <>
        <DecidingLine of={{ rule: pattern ?? undefined, line: line ?? undefined }} />
        <span class="muted small line">
          <Cut text={`${hostname} · SHA-256 ${sha256?.slice(0, 16) ?? '–'}`} />
        </span>
      </>
    )),
    countColumn('fetches', { width: '84px' }),
    column(texts.last, { width: '124px', right: true, wide: true }, ({ last }) => (
      <span class="muted">{formatInstant(last)}</span>
    )),
  ]
}

type Fetch = Preview['fetches'][number]

const rowsOf = ({ fetches }: Preview) => ({
  rows: fetches.slice(0, FIRST_ROWS),
  rowKey: (row: Fetch) => JSON.stringify(row),
})

function fetchColumns(): Column<Fetch>[] {
  const texts = later().evidence
  return [
    column(texts.path, {}, ({ pathname, at }) => (
      <>
        <Cut text={pathname} />
        <span class="muted small line">{formatInstant(at)}</span>
      </>
    )),
    column(texts.verdict, { width: '26%' }, ({ robots, action }) => (
      <span class="small line">{[texts.verdicts[robots], action && texts.byRule].filter(Boolean).join(', ')}</span>
    )),
    column(texts.status, { width: '60px', right: true, wide: true }, ({ status }) => status),
    column(texts.readAt, { width: '132px', right: true, wide: true }, ({ robots_read_at: at }) => (
      <span class="muted">{at === null ? texts.notRead : formatInstant(at)}</span>
    )),
  ]
}
