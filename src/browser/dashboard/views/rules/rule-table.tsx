import { useEffect, useRef, useState } from 'preact/hooks'
import { SparkBars } from '../../charts/spark-bars.js'
import { LinkButton } from '../../parts/buttons.js'
import { column } from '../../parts/columns.js'
import { act, toast } from '../../parts/dialogs.js'
import { Choose } from '../../parts/fields.js'
import { Gate } from '../../parts/gate.js'
import { type Column, Table } from '../../parts/table.js'
import { go, hrefTo, viewPath } from '../../state/address.js'
import { forget } from '../../state/data.js'
import { formatBytes, formatNumber } from '../../state/format.js'
import { change } from '../../state/records.js'
import type { Rehearsed } from '../../state/rehearsal.js'
import type { RehearsedRule, Rule, RuleState } from '../../state/rules.js'
import { t } from '../../texts/index.js'
import { ruleText } from './draft.js'
import { ConfirmOn, STATES, useCatalog } from './rule.js'
import { daysOf, enginesTouched, Readers } from './rule-result.js'

interface RuleTableProps {
  rules: readonly Rule[]
  result: Rehearsed
  mayChange: boolean
}

/** The rules in their order: Alt with an arrow, the grip, or the menu of its state moves one. */
export function RuleTable({ rules, result, mayChange }: RuleTableProps) {
  const texts = t().rules
  const moved = useRef<number>(undefined)
  const dragged = useRef<Rule>(undefined)
  const [asks, setAsks] = useState<Rule>()
  // The row that moved keeps the focus when the list has its new order.
  useEffect(() => {
    if (moved.current !== undefined) document.getElementById(`rule-${moved.current}`)?.focus()
    moved.current = undefined
  }, [rules])
  const patch = (rule: Rule, changed: { position: number } | { state: RuleState }) =>
    act(() => change('/api/rules', rule, changed)).finally(() => forget('/api/rules'))
  const move = (rule: Rule | undefined, position: number | undefined) => {
    if (!rule || !position || rule.position === position || position > rules.length) return
    moved.current = rule.id
    void patch(rule, { position }).then((isMoved) => isMoved && toast(texts.moved(rule.name, position)))
  }
  const at = ({ target }: Event): Rule | undefined =>
    target instanceof Element ? rules[(target.closest('tr')?.rowIndex ?? 0) - 1] : undefined
  const columns = ruleColumns(rules, result, mayChange ? move : undefined, (rule, state) =>
    state === 'on' ? setAsks(rule) : void patch(rule, { state }),
  )
  return (
    <div
      onKeyDown={(event) => {
        const by = { ArrowUp: -1, ArrowDown: 1 }[event.key]
        const rule = at(event)
        if (!mayChange || !event.altKey || by === undefined || !rule) return
        event.preventDefault()
        move(rule, rule.position + by)
      }}
      onDragStart={(event) => (dragged.current = at(event))}
      onDragOver={(event) => dragged.current && event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault()
        move(dragged.current, at(event)?.position)
        dragged.current = undefined
      }}
    >
      <Table label={texts.inOrder} rows={rules} rowKey={({ id }) => `${id}`} columns={columns} />
      {asks && (
        <ConfirmOn
          of={result.data?.rules.find(({ id }) => id === asks.id)}
          onClose={() => setAsks(undefined)}
          submit={async () => {
            setAsks(undefined)
            // The rule's own view says why it is refused, and what to do.
            void patch(asks, { state: 'on' }).then((isOn) => isOn || go({ path: viewPath('rules', `${asks.id}`) }))
          }}
        />
      )}
    </div>
  )
}

/** Moves a rule to a place; undefined for readers who may not. */
type Move = ((rule: Rule, position: number) => void) | undefined
type OnState = (rule: Rule, state: RuleState) => void

/** The columns of the rules. Long because each has its cell. */
function ruleColumns(rules: readonly Rule[], { data }: Rehearsed, onMove: Move, onChoose: OnState): Column<Rule>[] {
  const { rules: texts, units, parts } = t()
  const { names } = useCatalog()
  const resultOf = ({ id }: Rule) => data?.rules.find((one) => one.id === id)
  const kindOf = ({ state }: Rule) => (state === 'on' ? 'refused' : 'would')
  const quiet = (text: string) => <span class="muted small line">{text}</span>
  return [
    column(texts.rule, {}, (rule) => (
      <div class="rule-name">
        <span class="muted">
          {onMove && (
            <span class="grip" draggable title={texts.grip} aria-hidden="true">
              =
            </span>
          )}
          {rule.position}
        </span>
        <div>
          <a id={`rule-${rule.id}`} href={hrefTo({ path: viewPath('rules', `${rule.id}`) })} dir="auto">
            {rule.name}
          </a>
          <span class="wide">{quiet(ruleText(rule, names))}</span>
          <Flags of={resultOf(rule)} rule={rule} rules={rules} onMove={onMove} />
        </div>
      </div>
    )),
    column(texts.state, { width: '124px', phone: 'end' }, (rule) => (
      <StateChoice rule={rule} last={rules.length} onMove={onMove} onChoose={onChoose} />
    )),
    column(parts.granularity.day, { width: '132px' }, (rule) => {
      const one = resultOf(rule)
      const kind = kindOf(rule)
      if (!data || !one || one[kind].fetches === 0) return ''
      const label = texts.bars(rule.name, units.fetches(one[kind].fetches), kind)
      return (
        <SparkBars label={label} kind={kind} buckets={daysOf(data, one).map((d) => ({ t: d.day, value: d[kind] }))} />
      )
    }),
    column(parts.metric.fetches ?? '', { width: '108px', phone: 'below' }, (rule) => {
      const one = resultOf(rule)
      if (!one) return quiet(rule.state === 'off' ? texts.offNotCounted : '\u00a0')
      return (
        <>
          <b>{formatNumber(one.would.fetches)}</b>
          {rule.action !== 'allow' &&
            quiet(
              rule.state === 'on'
                ? `${formatNumber(one.refused.fetches)} ${texts.refused}`
                : texts.bytesNotSent(formatBytes(one.would.bytes)),
            )}
        </>
      )
    }),
    column(texts.byAgent, { width: '17%' }, (rule) => {
      const list = resultOf(rule)?.agents.map(({ name, would }) => `${name} ${formatNumber(would)}`) ?? []
      return quiet([...list.slice(0, 2), ...(list.length > 2 ? [texts.more(list.length - 2)] : [])].join(', '))
    }),
    column(texts.atRisk, { width: '104px', phone: 'below-end' }, (rule) => {
      const one = resultOf(rule)
      return rule.action === 'allow' ? quiet(texts.refusesNothing) : one && <Readers readers={one.readers} />
    }),
  ]
}

interface FlagsProps {
  of: RehearsedRule | undefined
  rule: Rule
  rules: readonly Rule[]
  onMove: Move
}

/** Says that a rule never decides, or that it would refuse search engines. */
function Flags({ of, rule, rules, onMove }: FlagsProps) {
  const { rules: texts, units } = t()
  const engines = of ? enginesTouched(of) : []
  const before = rules.find(({ id }) => id === of?.never_decides?.by)
  return (
    <>
      {engines.length > 0 && (
        <span class="flag inverted">{texts.refusesEngines(engines.map(({ name }) => name).join(', '))}</span>
      )}
      {of?.never_decides && before && (
        <span class="flag">
          <b>{texts.neverDecides}</b> {texts.standsBefore(before.position, units.fetches(of.never_decides.fetches))}{' '}
          {onMove && (
            <LinkButton class="link" onClick={() => onMove(rule, before.position)}>
              {texts.moveAbove(before.position)}
            </LinkButton>
          )}
        </span>
      )}
    </>
  )
}

interface StateChoiceProps {
  rule: Rule
  last: number
  onMove: Move
  onChoose: OnState
}

/** The state of a rule, as a list of choices that changes it or moves the rule. */
function StateChoice({ rule, last, onMove, onChoose }: StateChoiceProps) {
  const texts = t().rules
  const { name, state, position, ended } = rule
  const moves = [...(position > 1 ? (['moveUp'] as const) : []), ...(position < last ? (['moveDown'] as const) : [])]
  return (
    <span class="rule-state">
      <Gate of={ended ? 'off' : state} />
      {ended && texts.ended}
      {onMove ? (
        <Choose
          class="interval"
          aria-label={texts.stateOf(name)}
          value={state}
          choices={[
            ...STATES.map((each) => [each, texts.states[each]] as const),
            ...moves.map((each) => [each, texts[each]] as const),
          ]}
          onChoose={(value) => {
            const chosen = STATES.find((each) => each === value)
            if (chosen) onChoose(rule, chosen)
            else onMove(rule, position + (value === 'moveUp' ? -1 : 1))
          }}
        />
      ) : (
        !ended && texts.states[state]
      )}
    </span>
  )
}
