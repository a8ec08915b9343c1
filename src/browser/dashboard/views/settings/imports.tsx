import { useRef, useState } from 'preact/hooks'
import type { DataOf } from '../../client/index.js'
import { LinkButton, PlainButton } from '../../parts/buttons.js'
import { act, Confirm } from '../../parts/dialogs.js'
import { Input, textOf } from '../../parts/fields.js'
import { Cut } from '../../parts/names.js'
import { Panel } from '../../parts/panel.js'
import { client, send } from '../../state/client.js'
import { forget, useRead } from '../../state/data.js'
import { formatBytes, formatLongDay, formatNumber, formatShare } from '../../state/format.js'
import { quantity } from '../../state/quantity.js'
import { siteQuery } from '../../state/question.js'
import { hasRole, site } from '../../state/session.js'
import { dropUpload, retryUpload, type Upload, upload, uploads } from '../../state/uploads.js'
import { t } from '../../texts/index.js'

type ImportRecord = DataOf<'/api/imports'>[number]

/** How often a running import is looked at. */
const LOOK_MS = 1_500

/** Brings access logs of the time before in, shows what became of each, and takes them out again. */
export function Imports() {
  const { parts, settings } = t()
  return (
    <Panel title={settings.sections.imports}>
      {() => (hasRole('admin') ? <ImportLogs /> : <p class="muted">{parts.needsRole('admin')}</p>)}
    </Panel>
  )
}

/** The field for files, and the list of uploads and imports. */
export function ImportLogs() {
  const texts = t().imports
  const [isWatched, setWatched] = useState(true)
  const answer = useRead('/api/imports', siteQuery.value, isWatched ? { every: LOOK_MS } : {})
  const records = answer.data ?? []
  const waiting = uploads.value.filter((each) => each.site === site.value?.id)
  const isRunning = waiting.length > 0 || records.some(({ state }) => state === 'running' || state === 'removing')
  if (answer.data && isRunning !== isWatched) setWatched(isRunning)
  return (
    <>
      <p class="muted">{texts.intro}</p>
      <Chooser />
      {answer.problem && <p role="alert">{t().parts.problem[answer.problem.code] ?? answer.problem.message}</p>}
      <ul class="imports" aria-label={texts.list}>
        {waiting.map((each) => (
          <UploadRow key={`upload ${each.key}`} of={each} />
        ))}
        {records.map((each) => (
          <ImportRow key={each.id} of={each} />
        ))}
      </ul>
      {waiting.length > 0 && <p class="foot">{texts.keepOpen}</p>}
    </>
  )
}

/** Takes files by choice or by drop. A site without a hostname asks for that of the log's lines. */
function Chooser() {
  const texts = t().imports
  const picker = useRef<HTMLInputElement>(null)
  const form = useRef<HTMLFormElement>(null)
  const [isOver, setOver] = useState(false)
  const needsHost = (site.value?.domains ?? []).length === 0
  const take = (files: Iterable<File>) => {
    const host = form.current ? textOf(new FormData(form.current), 'host') : ''
    if (form.current?.reportValidity() === false) return
    upload(site.value?.id ?? 0, [...files], host || undefined)
  }
  return (
    <form
      ref={form}
      class={isOver ? 'drop over' : 'drop'}
      onSubmit={(event) => event.preventDefault()}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault()
        setOver(false)
        take(event.dataTransfer?.files ?? [])
      }}
    >
      {needsHost && <Input label={texts.host} hint={texts.hostHint} name="host" required maxLength={253} />}
      <span>{texts.drop}</span>
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        aria-label={texts.choose}
        onChange={(event) => {
          take(event.currentTarget.files ?? [])
          event.currentTarget.value = ''
        }}
      />
      <PlainButton onClick={() => picker.current?.click()}>{texts.choose}</PlainButton>
      <span class="muted small">{texts.larger}</span>
    </form>
  )
}

const Progress = ({ label, done, total }: { label: string; done: number; total: number }) => (
  <progress aria-label={label} value={done} max={Math.max(1, total)} />
)

function UploadRow({ of }: { of: Upload }) {
  const { imports: texts, parts } = t()
  const { file, state, sent, problem, key } = of
  const words =
    state === 'sending'
      ? texts.sending(formatBytes(sent), formatBytes(file.size))
      : state === 'waiting'
        ? texts.waiting
        : `${problem?.message || (parts.problem[problem?.code ?? ''] ?? '')} ${texts.notImported}`
  return (
    <li>
      <b>
        <Cut text={file.name} />
      </b>
      {state === 'sending' && <Progress label={file.name} done={sent} total={file.size} />}
      <span class="right">
        {state === 'failed' && <LinkButton onClick={() => retryUpload(key)}>{parts.retry}</LinkButton>}
        <LinkButton aria-label={`${texts.stop}: ${file.name}`} onClick={() => dropUpload(of)}>
          {state === 'failed' ? texts.forget : texts.stop}
        </LinkButton>
      </span>
      <p class="muted small" role={state === 'failed' ? 'alert' : undefined}>
        {words}
      </p>
    </li>
  )
}

function ImportRow({ of }: { of: ImportRecord }) {
  const texts = t().imports
  const [asking, setAsking] = useState(false)
  const { id, state, source, format, done, total, lines, last_at, broken, known, skipped, data_lines, reason } = of
  const people = quantity('/api/imports human', of.human)
  const agents = quantity('/api/imports agent', of.agent)
  const left = broken + known + skipped
  const reasons: [count: number, text: string][] = [
    [skipped - (data_lines ?? 0), texts.reasons.notPages],
    [data_lines ?? 0, texts.reasons.data],
    [known, texts.reasons.known],
    [broken, texts.reasons.broken],
  ]
  return (
    <li>
      <b>
        <Cut text={source} />
      </b>{' '}
      {format !== null && <span class="muted small">{format.slice(0, 40)}</span>}
      {state === 'running' && total !== null && <Progress label={source} done={done} total={total} />}
      <span class="right">
        {state !== 'removing' && (
          <LinkButton aria-label={`${texts.undo}: ${source}`} onClick={() => setAsking(true)}>
            {state === 'running' ? texts.stop : texts.undo}
          </LinkButton>
        )}
      </span>
      <p class="muted small">
        {state === 'removing'
          ? texts.removing
          : state === 'running'
            ? texts.running(
                total === null ? '' : formatShare(done / Math.max(1, total)),
                last_at === null ? undefined : formatLongDay(last_at),
                people,
                agents,
              )
            : texts.done(formatNumber(lines), people, agents)}
        {state === 'failed' && ` ${texts.failed} ${reason ?? ''}`}
      </p>
      {left > 0 && state !== 'removing' && (
        <details>
          <summary>{texts.skipped(formatNumber(left))}</summary>
          <ul class="small">
            {reasons
              .filter(([count]) => count > 0)
              .map(([count, text]) => (
                <li key={text}>
                  {formatNumber(count)} {text}
                </li>
              ))}
          </ul>
        </details>
      )}
      {asking && (
        <Confirm
          title={texts.undoTitle(source)}
          text={texts.undoText}
          action={texts.undo}
          onClose={() => setAsking(false)}
          submit={async () => {
            await act(() =>
              send(client.DELETE('/api/imports/{id}', { params: { path: { id }, query: { site: of.site } } })),
            )
            forget('/api/imports')
            setAsking(false)
          }}
        />
      )}
    </li>
  )
}
