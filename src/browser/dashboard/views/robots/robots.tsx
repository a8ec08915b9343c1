import '../../styles/diff.css'
import '../../styles/robots.css'
import { useState } from 'preact/hooks'
import type { DataOf } from '../../client/index.js'
import { Choices, LinkButton, PlainButton } from '../../parts/buttons.js'
import { buttonColumn, column } from '../../parts/columns.js'
import { act } from '../../parts/dialogs.js'
import { Diff } from '../../parts/diff.js'
import { EngineBand } from '../../parts/engine-band.js'
import { Choose } from '../../parts/fields.js'
import { Panel, Sentence, Sheet } from '../../parts/panel.js'
import { Table } from '../../parts/table.js'
import { client, send } from '../../state/client.js'
import { forget, useRead } from '../../state/data.js'
import { formatInstant } from '../../state/format.js'
import { siteQuery } from '../../state/question.js'
import { type TriedText, useRehearsal } from '../../state/rehearsal.js'
import { hasRole } from '../../state/session.js'
import { t } from '../../texts/index.js'
import { Editor } from './editor.js'
import { Effects } from './effects.js'

type Stored = DataOf<'/api/robots-texts'>
type Version = Stored['versions'][number]

/** Writes a robots.txt, shows what it would have done, and publishes it. */
export default function Robots() {
  const { robots: texts, units } = t()
  const site = siteQuery.value
  const read = useRead('/api/policy/versions', { ...site, kind: 'robots', limit: 1 })
  const stored = useRead('/api/robots-texts', site)
  const presets = useRead('/api/policy/presets', site)
  const [shown, setShown] = useState<'text' | 'diff'>('text')
  const [draft, setDraft] = useState<string>()
  const [replacement, setReplacement] = useState<{ text: string }>()
  // The worker reads a text that was published a second later.
  const served = stored.data?.versions.find(({ is_served }) => is_served)?.text ?? read.data?.[0]?.text ?? ''
  const present = read.data && stored.data && served
  const text = draft ?? present
  const tried = useRehearsal('/api/policy/rehearsal', text === undefined ? undefined : { text })
  const { data: result } = tried
  const replace = (by: string) => {
    setShown('text')
    setReplacement({ text: by })
  }
  return (
    <Sheet title={t().shell.view.robots}>
      <Sentence answers={[tried]}>
        {() =>
          result &&
          texts.sentence(
            units.fetches(result.newly_disallowed.fetches),
            result.hidden.llms,
            units.pages(result.hidden.sitemap),
          )
        }
      </Sentence>
      <Panel
        span={7}
        title={
          <Choices
            values={['text', 'diff'] as const}
            now={shown}
            nameOf={(one) => texts.show[one]}
            onChoose={setShown}
          />
        }
        right={
          <label>
            <span class="muted">{texts.startFrom}</span>{' '}
            <Choose
              class="interval start-from"
              value=""
              choices={[
                ['', texts.choose],
                ...(presets.data ?? []).map(({ name }) => [name, texts.preset[name]] as const),
                ['present', texts.presentText],
              ]}
              onChoose={(value) => replace(presets.data?.find(({ name }) => name === value)?.text ?? present ?? '')}
            />
          </label>
        }
        answers={[read, stored]}
        skeleton={16}
      >
        {() =>
          text !== undefined &&
          present !== undefined &&
          stored.data && (
            <>
              {shown === 'diff' && <Diff before={present} after={text} label={texts.show.diff} />}
              <div hidden={shown === 'diff'}>
                <Editor {...{ text, present, tried, replacement }} onChange={setDraft} />
                <p class="foot">{texts.legend}</p>
              </div>
              <Publish {...{ text, present, tried }} stored={stored.data} onReplace={replace} />
            </>
          )
        }
      </Panel>
      <Effects tried={tried} />
    </Sheet>
  )
}

interface PublishProps {
  text: string
  present: string
  tried: TriedText
  stored: Stored
  onReplace: (text: string) => void
}

/** Publishes the text, or gives it to copy; a text that takes a search engine away is locked first. */
function Publish({ text, present, tried, stored, onReplace }: PublishProps) {
  const { robots: texts, units, parts } = t()
  const [isBusy, setBusy] = useState(false)
  const { is_managed, versions } = stored
  const mayPublish = hasRole('admin')
  const isJudged = tried.of?.text === text
  const engines = isJudged ? (tried.data?.search_engines ?? []) : []
  const site = siteQuery.value.site ?? 0
  const change = async (asked: () => Promise<unknown>, done: string) => {
    setBusy(true)
    await act(asked, done)
    forget('/api/robots-texts')
    forget('/api/policy')
    setBusy(false)
  }
  const publish = (of: { text: string } | { version: number }, done: string, disallow_search_engines = false) =>
    void change(() => send(client.POST('/api/robots-texts', { body: { site, ...of, disallow_search_engines } })), done)
  const handBack = () => send(client.DELETE('/api/robots-texts', { params: { query: { site } } }))
  return (
    <>
      <EngineBand
        title={texts.bandTitle(engines.length)}
        engines={engines.map((one) => ({ ...one, at_stake: units.fetches(one.fetches) }))}
        action={mayPublish ? texts.publish : undefined}
        onAction={() => publish({ text }, texts.published, true)}
      />
      <div class="buttons">
        {mayPublish && engines.length === 0 && (
          <button
            type="button"
            class="button"
            disabled={isBusy || !isJudged || (text === present && is_managed)}
            onClick={() => publish({ text }, texts.published)}
          >
            {texts.publish}
          </button>
        )}
        <PlainButton onClick={() => void act(() => navigator.clipboard.writeText(text), parts.copied)}>
          {parts.copy}
        </PlainButton>
        {mayPublish && is_managed && (
          <PlainButton disabled={isBusy} onClick={() => void change(handBack, texts.handedBack)}>
            {texts.handBack}
          </PlainButton>
        )}
      </div>
      <p class="foot">{mayPublish ? (is_managed ? texts.byUs : texts.byServer) : parts.needsRole('admin')}</p>
      {versions.length > 0 && (
        <Table
          label={texts.versions}
          rows={versions}
          rowKey={({ id }) => `${id}`}
          columns={[
            column<Version>(texts.versions, {}, ({ created_at, created_by, is_served }) => (
              <>
                {formatInstant(created_at)}{' '}
                <span class="muted small">
                  {created_by} {is_served && <b>{texts.served}</b>}
                </span>
              </>
            )),
            ...buttonColumn<Version>('190px', ({ id, is_served, text: old }) => (
              <>
                {old !== undefined && <LinkButton onClick={() => onReplace(old)}>{parts.edit}</LinkButton>}{' '}
                {!is_served && mayPublish && (
                  <LinkButton disabled={isBusy} onClick={() => publish({ version: id }, texts.rolledBack)}>
                    {texts.rollBack}
                  </LinkButton>
                )}
              </>
            )),
          ]}
        />
      )}
    </>
  )
}
