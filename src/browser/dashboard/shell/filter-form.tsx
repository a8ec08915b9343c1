import { useId, useState } from 'preact/hooks'
import { PlainButton } from '../parts/buttons.js'
import { Choose } from '../parts/fields.js'
import { dimensionName } from '../parts/filter-name.js'
import { type Filter, type FilterNode, isFilter } from '../state/address.js'
import { useRead } from '../state/data.js'
import { dimensions, envelope } from '../state/question.js'
import { t } from '../texts/index.js'

interface FilterFormProps {
  node?: FilterNode
  action: string
  onDone: (node: FilterNode) => void
}

/** A filter in the form: its values as typed, one per line. */
interface Draft {
  dimension: string
  op: string
  text: string
}

const BLANK: Draft = { dimension: 'pathname', op: 'is', text: '' }

const draftOf = ({ dimension, op, value }: Filter): Draft => ({
  dimension,
  op,
  text: value === undefined ? '' : [value].flat().join('\n'),
})

/** Returns the filters that a node joins by "or", and whether all are negated; undefined for nodes of other shapes. */
function parts(node: FilterNode): { rows: Filter[]; negated: boolean } | undefined {
  if (isFilter(node)) return { rows: [node], negated: false }
  const { and, or, not } = node
  if (and !== undefined || (or === undefined) === (not === undefined)) return undefined
  if (or) return or.every(isFilter) ? { rows: or.filter(isFilter), negated: false } : undefined
  const inner = not && parts(not)
  return inner && !inner.negated ? { ...inner, negated: true } : undefined
}

/** Whether the form can show a filter whole; others can only be removed. */
export const isEditable = (node: FilterNode): boolean => parts(node) !== undefined

const typeOf = (name: string) => dimensions.value.find((each) => each.name === name)?.type ?? 'text'
const isTruth = (type: string): boolean => type === 'boolean' || type === 'flag'
const isUnary = (op: string): boolean => op === 'is_set' || op === 'is_not_set'

/** Returns the filter as the API takes it: one value, or a list of which any matches. */
function toFilter({ dimension, op, text }: Draft): Filter {
  if (isUnary(op)) return { dimension, op }
  const type = typeOf(dimension)
  if (isTruth(type)) return { dimension, op, value: text === 'true' || text === '1' }
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
  const values = lines.map((line) => (type === 'number' && Number.isFinite(Number(line)) ? Number(line) : line))
  return { dimension, op, value: values.length > 1 ? values : (values[0] ?? '') }
}

/** One filter, or several joined by "or", or the opposite of them. */
export function FilterForm({ node, action, onDone }: FilterFormProps) {
  const { shell } = t()
  const given = node && parts(node)
  const [rows, setRows] = useState<readonly Draft[]>(() => given?.rows.map(draftOf) ?? [BLANK])
  const [negated, setNegated] = useState(given?.negated ?? false)
  const change = (i: number, changed: Partial<Draft>) =>
    setRows((all) => all.map((row, j) => (j === i ? { ...row, ...changed } : row)))
  const finish = (event: SubmitEvent) => {
    event.preventDefault()
    const [first, ...rest] = rows.map(toFilter)
    if (!first) return
    const joined: FilterNode = rest.length === 0 ? first : { or: [first, ...rest] }
    onDone(negated ? { not: joined } : joined)
  }
  return (
    <form onSubmit={finish}>
      {rows.map((row, i) => (
        <fieldset key={i} class="either">
          {i > 0 && <legend>{shell.or}</legend>}
          <Row row={row} onChange={(changed) => change(i, changed)} />
        </fieldset>
      ))}
      <label class="check">
        <input type="checkbox" checked={negated} onChange={(event) => setNegated(event.currentTarget.checked)} />{' '}
        {shell.exclude}
      </label>
      <div class="buttons">
        <button type="submit" class="button">
          {action}
        </button>
        <PlainButton onClick={() => setRows([...rows, BLANK])}>{shell.orGroup}</PlainButton>
      </div>
    </form>
  )
}

interface RowProps {
  row: Draft
  onChange: (changed: Partial<Draft>) => void
}

function Row({ row, onChange }: RowProps) {
  const { shell } = t()
  const operators = dimensions.value.find(({ name }) => name === row.dimension)?.operators ?? ['is', 'is_not']
  const choose = (name: string) => {
    const known = dimensions.value.find((each) => each.name === name)?.operators ?? []
    onChange({
      dimension: name,
      op: known.includes(row.op) ? row.op : (known[0] ?? 'is'),
      text: isTruth(typeOf(name)) ? 'true' : '',
    })
  }
  return (
    <>
      <label class="field">
        <span>{shell.dimension}</span>
        <select value={row.dimension} onChange={(event) => choose(event.currentTarget.value)}>
          {dimensions.value.map(({ name, audiences }) => (
            <option key={name} value={name}>
              {dimensionName(name)}
              {audiences.includes('human')
                ? audiences.includes('agent')
                  ? ''
                  : ` (${shell.peopleOnly})`
                : ` (${shell.agentsOnly})`}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span>{shell.operator}</span>
        <Choose
          value={row.op}
          choices={operators.map((op) => [op, shell.operators[op] ?? op])}
          onChoose={(op) => onChange({ op })}
        />
      </label>
      {!isUnary(row.op) && <Value row={row} onChange={onChange} />}
    </>
  )
}

/** The value of a filter: yes or no, one text with suggestions, or several texts. */
function Value({ row, onChange }: RowProps) {
  const { shell } = t()
  const list = useId()
  const type = typeOf(row.dimension)
  const [hadSeveral] = useState(row.text.includes('\n'))
  const isLong = hadSeveral || row.op === 'between'
  const known = dimensions.value.find(({ name }) => name === row.dimension)
  const audience = known?.audiences.includes('human') === false ? 'agent' : 'human'
  // Suggests the values that the site has most; a dimension without a breakdown suggests nothing.
  const { data } = useRead(
    audience === 'human' ? '/api/stats/breakdown' : '/api/agents/breakdown',
    type === 'text'
      ? { ...envelope(audience), filters: undefined, compare: undefined, dimension: row.dimension, limit: 20 }
      : undefined,
  )
  const onInput = (event: { currentTarget: HTMLInputElement | HTMLTextAreaElement }) =>
    onChange({ text: event.currentTarget.value })
  return (
    <label class="field">
      <span>{shell.value}</span>
      {isTruth(type) ? (
        <Choose
          value={row.text === 'true' || row.text === '1' ? 'true' : 'false'}
          choices={[
            ['true', shell.yes],
            ['false', shell.no],
          ]}
          onChoose={(text) => onChange({ text })}
        />
      ) : isLong ? (
        <textarea required rows={4} value={row.text} onInput={onInput} />
      ) : (
        <input required list={list} value={row.text} onInput={onInput} />
      )}
      {isLong && <span class="hint">{row.op === 'between' ? shell.betweenHint : shell.valuesHint}</span>}
      <datalist id={list}>
        {data?.map(({ value }) => (value === undefined ? null : <option key={`${value}`} value={`${value}`} />))}
      </datalist>
    </label>
  )
}
