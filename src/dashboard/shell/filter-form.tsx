import { useState } from 'preact/hooks'
import { type Filter, type FilterNode, isFilter } from '../state/address.js'
import { useRead } from '../state/data.js'
import { dimensions, envelope } from '../state/question.js'
import { t } from '../texts/index.js'

interface FilterFormProps {
  node?: FilterNode
  action: string
  onDone: (node: FilterNode) => void
}

const toText = (value: Filter['value']): string => (Array.isArray(value) ? value.join('\n') : `${value ?? ''}`)

const BLANK: Filter = { dimension: 'pathname', op: 'is' }

/** The filters that a node joins by "or", and whether all of them are negated. Nodes of other shapes are edited as they are. */
function parts(node: FilterNode | undefined): Filter[] {
  if (node === undefined) return [BLANK]
  if (isFilter(node)) return [node]
  const inner =
    node.or ?? (node.not && !isFilter(node.not) ? node.not.or : node.not ? [node.not] : undefined) ?? node.and ?? []
  return inner.filter(isFilter)
}

/** Returns the value as the API takes it: one, or a list of which any matches. Numbers stay numbers. */
function parseValue(text: string, type: string): NonNullable<Filter['value']> {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
  const values = lines.map((line) =>
    type === 'number' && line !== '' && Number.isFinite(Number(line)) ? Number(line) : line,
  )
  if (type === 'boolean' || type === 'flag') return lines[0] === 'true' || lines[0] === '1'
  return values.length > 1 ? values : (values[0] ?? '')
}

/** One filter, or several joined by "or", or the opposite of them. */
export function FilterForm({ node, action, onDone }: FilterFormProps) {
  const { shell } = t()
  const [rows, setRows] = useState<readonly Filter[]>(() => parts(node))
  const [negated, setNegated] = useState(node !== undefined && !isFilter(node) && node.not !== undefined)
  const change = (i: number, changed: Partial<Filter>) =>
    setRows((all) => all.map((row, j) => (j === i ? { ...row, ...changed } : row)))
  const finish = (event: SubmitEvent) => {
    event.preventDefault()
    const [first, ...rest] = rows
    if (!first) return
    const joined: FilterNode = rest.length === 0 ? first : { or: [...rows] }
    onDone(negated ? { not: joined } : joined)
    if (node === undefined) setRows([BLANK])
  }
  return (
    <form onSubmit={finish}>
      {rows.map((row, i) => (
        <Row key={i} row={row} onChange={(changed) => change(i, changed)} />
      ))}
      <label class="check">
        <input type="checkbox" checked={negated} onChange={(event) => setNegated(event.currentTarget.checked)} />{' '}
        {shell.not}
      </label>
      <div class="buttons">
        <button type="submit" class="button">
          {action}
        </button>
        <button type="button" class="button plain" onClick={() => setRows([...rows, BLANK])}>
          {shell.orGroup}
        </button>
      </div>
    </form>
  )
}

function Row({ row, onChange }: { row: Filter; onChange: (changed: Partial<Filter>) => void }) {
  const { shell } = t()
  const dimension = dimensions.value.find(({ name }) => name === row.dimension)
  const type = dimension?.type ?? 'text'
  const unary = row.op === 'is_set' || row.op === 'is_not_set'
  const audience = dimension?.audiences.includes('human') === false ? 'agent' : 'human'
  // Suggests the values that the site has most; a dimension without a breakdown suggests nothing.
  const { data } = useRead(
    audience === 'human' ? '/api/stats/breakdown' : '/api/agents/breakdown',
    type === 'text'
      ? { ...envelope(audience), filters: undefined, compare: undefined, dimension: row.dimension, limit: 20 }
      : undefined,
  )
  const list = `values-${row.dimension}`
  return (
    <>
      <label class="field">
        <span>{shell.dimension}</span>
        <select value={row.dimension} onChange={(event) => onChange({ dimension: event.currentTarget.value })}>
          {dimensions.value.map(({ name, audiences }) => (
            <option key={name} value={name}>
              {name}
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
        <select value={row.op} onChange={(event) => onChange({ op: event.currentTarget.value })}>
          {(dimension?.operators ?? ['is', 'is_not']).map((op) => (
            <option key={op} value={op}>
              {shell.operators[op] ?? op}
            </option>
          ))}
        </select>
      </label>
      {!unary && (
        <label class="field">
          <span>{shell.value}</span>
          {Array.isArray(row.value) ? (
            <textarea
              rows={4}
              value={toText(row.value)}
              onInput={(event) => onChange({ value: parseValue(event.currentTarget.value, type) })}
            />
          ) : (
            <input
              required
              list={list}
              value={toText(row.value)}
              onInput={(event) => onChange({ value: parseValue(event.currentTarget.value, type) })}
            />
          )}
          <datalist id={list}>
            {data?.map(({ value }) => (value === undefined ? null : <option key={`${value}`} value={`${value}`} />))}
          </datalist>
        </label>
      )}
    </>
  )
}
