import { useState } from 'preact/hooks'
import type { DataOf } from '../../client/index.js'
import { LinkButton, PlainButton } from '../../parts/buttons.js'
import { Dialog, Form } from '../../parts/dialogs.js'
import { Icon, Mark } from '../../parts/marks.js'
import { Table } from '../../parts/table.js'
import { formatNumber } from '../../state/format.js'
import type { RehearsedRule } from '../../state/rules.js'
import { t } from '../../texts/index.js'
import type { Draft } from './draft.js'
import { column } from './rule-result.js'

type Agent = DataOf<'/api/agents/catalog'>[number]

/** The search engines that a rule refuses by naming them, those first whose fetches it touches. */
export function enginesOf(draft: Draft, catalog: readonly Agent[], rule: RehearsedRule | undefined) {
  if (draft.action === 'allow') return []
  const touched = new Map(rule?.search_engines.map((engine) => [engine.agent_id, engine]))
  const isNamed = ({ agent_id, operator, purpose, verification }: Agent) =>
    purpose === 'search' &&
    // Its fetches under its own name are verified, if that can be done.
    (draft.identity.length === 0 || draft.identity.includes(verification.length > 0 ? 'verified' : 'unverifiable')) &&
    !draft.except.includes(agent_id) &&
    (draft.agents.includes(agent_id) || draft.operators.includes(operator) || draft.purposes.includes('search'))
  return catalog
    .filter(isNamed)
    .map(({ agent_id, name }) => ({
      agent_id,
      name,
      ...{ would: 0, fetches: 0, readers: 0 },
      ...touched.get(agent_id),
    }))
    .sort((a, b) => b.would - a.would)
}
type Engines = ReturnType<typeof enginesOf>

const MAX_ROWS = 4

interface BandProps {
  engines: Engines
  draft: Draft
  onChange: (changed: Partial<Draft>) => void
}

/** Says that a rule would refuse search engines, what that costs, and locks it until the owner decides. */
export function EnginesBand({ engines, draft, onChange }: BandProps) {
  const texts = t().rules
  const [isTyping, setTyping] = useState(false)
  const seen = engines.filter(({ would }) => would > 0)
  const rows = (seen.length > 0 ? seen : engines).slice(0, MAX_ROWS)
  const leaveOut = () => onChange({ except: [...draft.except, ...engines.map(({ agent_id }) => agent_id)] })
  return (
    <section id="engines" class="cell engines" tabIndex={-1} aria-labelledby="engines-title">
      <svg class="warning" viewBox="0 0 44 40" aria-hidden="true">
        <path d="M22 2 42 38H2zM22 14v12M22 30v3" />
      </svg>
      <div>
        <h2 id="engines-title">{texts.wouldRefuse(texts.engines(seen.length || engines.length))}</h2>
        <p>{texts.enginesCost(rows.map(({ name }) => name).join(', '))}</p>
        <div class="buttons">
          <button type="button" class="button" onClick={leaveOut}>
            {texts.leaveOut}
          </button>
          <PlainButton onClick={() => setTyping(true)}>{texts.refuseThem}</PlainButton>
          <span class="small">{texts.locked}</span>
        </div>
      </div>
      <div class="engine-list">
        <Table
          label={texts.engine}
          rows={rows}
          rowKey={({ agent_id }) => agent_id}
          columns={[
            column<Engines[number]>(texts.engine, {}, ({ name }) => name),
            column<Engines[number]>(texts.wouldBe, { right: true, width: '40%' }, ({ would, fetches }) => (
              <>
                <Mark of="agent" /> {texts.some(formatNumber(would), formatNumber(fetches))}
              </>
            )),
            column<Engines[number]>(texts.itSent, { right: true, width: '30%' }, ({ readers }) => (
              <>
                <Mark of="human" /> {formatNumber(readers)}
              </>
            )),
          ]}
        />
        {engines.length > rows.length && <p class="small">{texts.more(engines.length - rows.length)}</p>}
      </div>
      {isTyping && engines[0] && (
        <TypeName
          name={engines[0].name}
          onClose={() => setTyping(false)}
          onTyped={() => onChange({ refuse_search_engines: true })}
        />
      )}
    </section>
  )
}

/** Asks for the name of a search engine before it is refused. */
function TypeName({ name, onTyped, onClose }: { name: string; onTyped: () => void; onClose: () => void }) {
  const texts = t().rules
  const [typed, setTyped] = useState('')
  const isTyped = typed.trim().toLowerCase() === name.toLowerCase()
  return (
    <Dialog title={texts.refuseThem} onClose={onClose}>
      <Form danger action={texts.refuseThem} onCancel={onClose} submit={async () => (isTyped ? onTyped() : undefined)}>
        <label class="field">
          <span>{texts.typeName(name)}</span>
          <input autofocus required value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        </label>
      </Form>
    </Dialog>
  )
}

interface ChosenProps {
  /** The search engines that the rule leaves out. */
  left: readonly string[]
  draft: Draft
  onChange: BandProps['onChange']
}

/** Says that search engines are left out, or refused on purpose, and takes that back. */
export function EnginesChosen({ left, draft, onChange }: ChosenProps) {
  const texts = t().rules
  if (left.length === 0 && !draft.refuse_search_engines) return null
  const undo = { refuse_search_engines: false, except: draft.except.filter((id) => !left.includes(id)) }
  return (
    <div class="cell engines-chosen">
      <Icon name="check" />
      <span>{draft.refuse_search_engines ? texts.refusedOnPurpose : texts.noEngine}</span>
      <LinkButton onClick={() => onChange(undo)}>{texts.undo}</LinkButton>
    </div>
  )
}
