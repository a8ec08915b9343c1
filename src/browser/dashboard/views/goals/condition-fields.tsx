import { LinkButton } from '../../parts/buttons.js'
import { Choose, Field, Wrong } from '../../parts/fields.js'
import { useRead } from '../../state/data.js'
import { siteQuery } from '../../state/question.js'
import { t } from '../../texts/index.js'
import {
  blank,
  type Condition,
  type GoalType,
  isNumeric,
  type Match,
  OPERATORS,
  readValue,
  valueText,
} from './condition.js'

interface ConditionFieldsProps {
  of: Condition
  types: readonly GoalType[]
  onChange: (changed: Condition) => void
  /** The place of this condition in the body: `steps[1].` or nothing. */
  at?: string
}

/** The type of a goal or step, and what it looks for. */
export function ConditionFields({ of, types, onChange, at = '' }: ConditionFieldsProps) {
  const texts = t().behaviour.goals
  const { type, match } = of
  const change = (changed: Partial<Match>) => onChange({ ...of, match: { ...match, ...changed } })
  return (
    <div class="condition">
      <Field label={texts.type} name={`${at}type`}>
        <Choose
          value={type}
          choices={types.map((each) => [each, texts.types[each]])}
          onChoose={(name) => {
            const next = types.find((each) => each === name)
            if (next) onChange(blank(next))
          }}
        />
      </Field>
      {isNumeric(type) ? (
        <Field label={type === 'scroll' ? texts.scroll : texts.duration} name={`${at}match.value`}>
          <input
            type="number"
            required
            min={1}
            max={type === 'scroll' ? 100 : 86_400}
            value={valueText(match.value)}
            onInput={(event) => change({ value: event.currentTarget.valueAsNumber })}
          />
        </Field>
      ) : (
        <Test
          label={texts.values[type]}
          type={type}
          test={match}
          onChange={(test) => onChange({ ...of, match: { ...(match.props ? { props: match.props } : {}), ...test } })}
          names={[`${at}match.op`, `${at}match.value`]}
        />
      )}
      {type === 'event' && <Properties match={match} onChange={change} name={`${at}match.props`} />}
      {type === 'scroll' &&
        (match.pathname ? (
          <>
            <Test
              label={texts.onPages}
              type="page"
              test={match.pathname}
              onChange={(pathname) => change({ pathname })}
              names={[`${at}match.pathname`]}
            />
            <LinkButton
              onClick={() => {
                const { pathname: _, ...rest } = match
                onChange({ ...of, match: rest })
              }}
            >
              {texts.everyPage}
            </LinkButton>
          </>
        ) : (
          <LinkButton onClick={() => change({ pathname: { op: 'starts_with', value: '/' } })}>
            {texts.somePages}
          </LinkButton>
        ))}
    </div>
  )
}

type ValueTest = Pick<Match, 'op' | 'value'>

interface TestProps {
  label: string
  /** The type whose values are suggested. */
  type?: GoalType
  test: ValueTest
  onChange: (test: ValueTest) => void
  /** The parts of the body that it is. */
  names?: readonly string[]
}

const SUGGESTED: Partial<Record<GoalType, string>> = { page: 'pathname', event: 'event_name' }

/** An operator and a value. Values that the site has most are suggested. */
function Test({ label, type, test, onChange, names = [] }: TestProps) {
  const { shell, behaviour } = t()
  const dimension = type && SUGGESTED[type]
  const { data } = useRead(
    '/api/stats/breakdown',
    dimension === undefined ? undefined : { ...siteQuery.value, range: '30d', audience: 'human', dimension, limit: 20 },
  )
  const list = `suggested-${dimension}`
  const needsValue = test.op !== 'is_set'
  return (
    <Field label={label} name={names} hint={needsValue ? behaviour.goals.hint[test.op] : undefined}>
      <span class="test">
        <Choose
          aria-label={shell.operator}
          value={test.op}
          choices={OPERATORS.map((op) => [op, op === 'is_set' ? behaviour.goals.any : (shell.operators[op] ?? op)])}
          onChoose={(op) => onChange(op === 'is_set' ? { op } : { op, value: test.value ?? '' })}
        />
        {needsValue &&
          (Array.isArray(test.value) ? (
            <textarea
              required
              rows={3}
              aria-label={label}
              value={valueText(test.value)}
              onInput={(event) => onChange({ op: test.op, value: readValue(event.currentTarget.value) })}
            />
          ) : (
            <input
              required
              list={dimension === undefined ? undefined : list}
              aria-label={label}
              value={valueText(test.value)}
              onInput={(event) => onChange({ op: test.op, value: event.currentTarget.value })}
            />
          ))}
        {dimension !== undefined && (
          <datalist id={list}>
            {data?.map(({ value }) => (value === undefined ? null : <option key={`${value}`} value={`${value}`} />))}
          </datalist>
        )}
      </span>
    </Field>
  )
}

/** Properties of an event that all have to match. */
function Properties({
  match,
  onChange,
  name,
}: {
  match: Match
  onChange: (changed: Partial<Match>) => void
  name: string
}) {
  const texts = t().behaviour.goals
  const props = match.props ?? []
  const set = (next: NonNullable<Match['props']>) => onChange({ props: next })
  return (
    <fieldset class="field">
      <legend>{texts.properties}</legend>
      {props.map((prop, i) => (
        <div class="property" key={i}>
          <input
            required
            maxLength={200}
            aria-label={texts.propertyKey}
            placeholder={texts.propertyKey}
            value={prop.key}
            onInput={(event) =>
              set(props.map((each, j) => (j === i ? { ...each, key: event.currentTarget.value } : each)))
            }
          />
          <Test
            label={t().shell.value}
            test={prop}
            onChange={(test) => set(props.map((each, j) => (j === i ? { key: each.key, ...test } : each)))}
          />
          <LinkButton onClick={() => set(props.filter((_, j) => j !== i))}>{texts.remove}</LinkButton>
        </div>
      ))}
      <Wrong names={[name]} />
      {props.length < 10 && (
        <LinkButton onClick={() => set([...props, { key: '', op: 'is', value: '' }])}>{texts.addProperty}</LinkButton>
      )}
    </fieldset>
  )
}
