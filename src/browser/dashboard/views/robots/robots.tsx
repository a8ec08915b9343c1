import '../../styles/diff.css'
import '../../styles/robots.css'
import { useEffect, useState } from 'preact/hooks'
import type { DataOf } from '../../client/index.js'
import { Choices, PlainButton } from '../../parts/buttons.js'
import { Diff } from '../../parts/diff.js'
import { Panel, Sentence, Sheet } from '../../parts/panel.js'
import { client, isProblem, type Problem, send } from '../../state/client.js'
import { forget, useRead } from '../../state/data.js'
import { formatInstant } from '../../state/format.js'
import { siteQuery } from '../../state/question.js'
import { fetchesOf, pagesOf, type Tried, useTextRehearsal } from '../../state/rehearsal.js'
import { hasRole } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { Editor, linesOf } from './editor.js'
import { Effects } from './effects.js'

type Stored = DataOf<'/api/robots-texts'>
type Preset = DataOf<'/api/policy/presets'>[number]

/** Writes a robots.txt, shows what it would have done, and publishes it. */
export default function Robots() {
  const texts = t().robots
  const site = siteQuery.value
  const versions = useRead('/api/policy/versions', { ...site, kind: 'robots', limit: 1 })
  const stored = useRead('/api/robots-texts', site)
  const presets = useRead('/api/policy/presets', site)
  const served = stored.data?.versions.find(({ is_served }) => is_served)
  const hasAnswers = versions.data !== undefined && stored.data !== undefined
  // The worker reads a text that was published a second later.
  const present = hasAnswers ? (served?.text ?? versions.data?.[0]?.text ?? '') : undefined
  const [draft, setDraft] = useState<string>()
  const text = draft ?? present
  const tried = useTextRehearsal(text, undefined)
  const { result } = tried
  const answer = {
    ...(result && { data: result }),
    ...(tried.problem && { problem: tried.problem }),
    ...{ loading: tried.isWaiting && result === undefined, stale: tried.isWaiting, retry: tried.retry },
  }
  return (
    <Sheet title={t().shell.view.robots}>
      <Sentence answers={[answer]}>
        {() =>
          result &&
          texts.sentence(fetchesOf(result.newly_disallowed.fetches), result.hidden.llms, pagesOf(result.hidden.sitemap))
        }
      </Sentence>
      <Panel span={7} title={texts.editor} hideTitle answers={[versions, stored]} skeleton={16}>
        {() =>
          text !== undefined &&
          present !== undefined &&
          stored.data && (
            <Draft
              {...{ text, present, tried }}
              stored={stored.data}
              presets={presets.data ?? []}
              onChange={setDraft}
            />
          )
        }
      </Panel>
      <Effects tried={tried} />
    </Sheet>
  )
}

interface DraftProps {
  text: string
  present: string
  tried: Tried
  stored: Stored
  presets: readonly Preset[]
  onChange: (text: string) => void
}

function Draft({ text, present, tried, stored, presets, onChange }: DraftProps) {
  const texts = t().robots
  const [shown, setShown] = useState<'text' | 'diff'>('text')
  const [replacement, setReplacement] = useState<{ text: string; turn: number }>()
  const replace = (by: string) => {
    setShown('text')
    setReplacement({ text: by, turn: (replacement?.turn ?? 0) + 1 })
  }
  return (
    <>
      <div class="robots-head">
        <Choices values={['text', 'diff'] as const} now={shown} nameOf={(one) => texts.show[one]} onChoose={setShown} />
        <label>
          <span class="muted">{texts.startFrom}</span>{' '}
          <select
            value=""
            onChange={({ currentTarget }) => {
              const { value } = currentTarget
              replace(presets.find(({ name }) => name === value)?.text ?? present)
              currentTarget.value = ''
            }}
          >
            <option value="" disabled>
              {texts.choose}
            </option>
            {presets.map(({ name }) => (
              <option key={name} value={name}>
                {texts.preset[name]}
              </option>
            ))}
            <option value="present">{texts.presentText}</option>
          </select>
        </label>
      </div>
      {shown === 'diff' && <Diff before={present} after={text} label={texts.show.diff} />}
      <div hidden={shown === 'diff'}>
        <Editor {...{ text, present, tried, replacement, onChange }} />
        <p class="foot">{texts.legend}</p>
      </div>
      <Publish {...{ text, present, tried, stored }} onReplace={replace} />
    </>
  )
}

/**
 * Publishes the text, or gives it to copy; a text that takes a search engine away is locked first. Long because it draws one
 * form in all its states.
 */
function Publish({
  text,
  present,
  tried,
  stored,
  onReplace,
}: Omit<DraftProps, 'presets' | 'onChange'> & { onReplace: (text: string) => void }) {
  const texts = t().robots
  const { is_managed, versions } = stored
  const [byUs, setByUs] = useState(true)
  const [typed, setTyped] = useState('')
  const [note, setNote] = useState('')
  const [problem, setProblem] = useState<Problem>()
  const [isBusy, setBusy] = useState(false)
  const isJudged = tried.text === text && tried.result !== undefined
  const engines = isJudged ? (tried.result?.search_engines ?? []) : []
  const [first] = engines
  useEffect(() => setTyped(''), [first?.agent_id])
  const isUnlocked = first !== undefined && typed.trim().toLowerCase() === first.name.toLowerCase()
  const change = async (asked: () => Promise<unknown>, done: string) => {
    setBusy(true)
    setProblem(undefined)
    setNote('')
    try {
      await asked()
      setNote(done)
    } catch (error) {
      if (!isProblem(error)) throw error
      setProblem(error)
    }
    forget('/api/robots-texts')
    forget('/api/policy')
    setBusy(false)
  }
  const site = siteQuery.value.site ?? 0
  const publish = (body: { text: string } | { version: number }, disallow_search_engines: boolean) =>
    send(client.POST('/api/robots-texts', { body: { site, ...body, disallow_search_engines } }))
  const mayPublish = hasRole('admin')
  const last = versions.find(({ is_served }) => is_served)
  return (
    <>
      {first !== undefined && (
        <section class="robots-band" aria-label={texts.bandTitle(engines.length)}>
          <h2>{texts.bandTitle(engines.length)}</h2>
          <p>
            {engines
              .slice(0, 5)
              .map(({ name, fetches }) => texts.engine(name, fetchesOf(fetches)))
              .join(', ')}
          </p>
          {mayPublish && byUs && (
            <label>
              {texts.typeName(first.name)}{' '}
              <input value={typed} onInput={({ currentTarget }) => setTyped(currentTarget.value)} />
            </label>
          )}
        </section>
      )}
      <fieldset class="robots-server">
        <legend>{texts.servedBy}</legend>
        {([true, false] as const).map((value) => (
          <label key={`${value}`}>
            <input type="radio" name="robots-server" checked={byUs === value} onChange={() => setByUs(value)} />{' '}
            {value ? texts.byUs : texts.byServer}
          </label>
        ))}
      </fieldset>
      <p class="robots-buttons">
        {byUs && mayPublish && (
          <button
            type="button"
            class="button"
            disabled={isBusy || !isJudged || (text === present && is_managed) || (first !== undefined && !isUnlocked)}
            onClick={() => change(() => publish({ text }, isUnlocked), texts.published)}
          >
            {texts.publish}
          </button>
        )}
        {!byUs && mayPublish && is_managed && (
          <PlainButton
            disabled={isBusy}
            onClick={() =>
              change(() => send(client.DELETE('/api/robots-texts', { params: { query: { site } } })), texts.handedBack)
            }
          >
            {texts.handBack}
          </PlainButton>
        )}
        <PlainButton onClick={() => void navigator.clipboard.writeText(text).then(() => setNote(texts.copied))}>
          {texts.copy}
        </PlainButton>
        {last && (
          <span class="muted small">{texts.lastPublished(formatInstant(last.created_at), last.created_by)}</span>
        )}
      </p>
      {!mayPublish && <p class="foot">{texts.needsAdmin}</p>}
      <p class="foot" role="status">
        {note}
      </p>
      {problem && (
        <p class="wrong" role="alert">
          {problem.message}
        </p>
      )}
      <h2>{texts.versions}</h2>
      <ol class="robots-versions">
        {text !== present && (
          <li class="draft">
            <span>
              {texts.draft} <span class="muted">{texts.notServed}</span>
            </span>
            <span class="muted small">{texts.lines(linesOf(text).length)}</span>
          </li>
        )}
        {versions.map(({ id, created_at, created_by, is_served, text: old }) => (
          <li key={id} aria-current={is_served ? 'true' : undefined}>
            <span>
              {formatInstant(created_at)} <span class="muted">{is_served ? texts.served : created_by}</span>
            </span>
            <span>
              {old !== undefined && (
                <button type="button" class="more" onClick={() => onReplace(old)}>
                  {texts.edit}
                </button>
              )}{' '}
              {!is_served && mayPublish && (
                <button
                  type="button"
                  class="more"
                  disabled={isBusy}
                  onClick={() => change(() => publish({ version: id }, false), texts.rolledBack)}
                >
                  {texts.rollBack}
                </button>
              )}
            </span>
          </li>
        ))}
        {versions.length === 0 && <li>{texts.noVersions}</li>}
      </ol>
    </>
  )
}
