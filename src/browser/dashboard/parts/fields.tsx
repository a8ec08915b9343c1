import {
  type ComponentChildren,
  createContext,
  h,
  type PartialInputHTMLAttributes,
  type TextareaHTMLAttributes,
} from 'preact'
import { useContext } from 'preact/hooks'
import { timeZone } from '../state/session.js'
import { instantOf } from '../state/zone.js'

/** A fault of a form. */
export interface FieldProblem {
  field?: string | undefined
  message: string
}

/** Why the form around a field was refused, or would be. */
export const FormProblems = createContext<readonly FieldProblem[]>([])

interface Labelled {
  label: string
  hint?: ComponentChildren
}

interface FieldProps extends Labelled {
  /** The API's names of the field; absent for a field that no problem names. */
  name?: string | readonly string[] | undefined
  children: ComponentChildren
}

/** Whether a problem names a field. A name with a dot is of a part of the body, such as `steps[1].match.value`. */
const isAbout = (field: string | undefined, name: string): boolean =>
  field !== undefined &&
  (field === name || field.startsWith(`${name}.`) || (name.includes('.') && field.startsWith(`${name}[`)))

/** Says why the form was refused, if that is about one of these fields. */
export function Wrong({ names }: { names: readonly string[] }) {
  const problem = useContext(FormProblems).find(({ field }) => names.some((name) => isAbout(field, name)))
  return problem ? <span class="wrong">{problem.message}</span> : null
}

/** A labelled field with its hint and what is wrong with it. */
export const Field = ({ label, hint, name, children }: FieldProps) => (
  <label class="field">
    <span>{label}</span>
    {children}
    {hint && <span class="hint">{hint}</span>}
    <Wrong names={[name ?? []].flat()} />
  </label>
)

type Attributes = Omit<PartialInputHTMLAttributes<HTMLInputElement>, 'label' | 'name'> & { list?: string }

/** A field of one line. The other attributes are the input's. */
export const Input = ({ label, hint, ...input }: Labelled & Attributes & { name: string }) => (
  <Field label={label} hint={hint} name={input.name}>
    {h('input', input)}
  </Field>
)

interface LinesProps extends Labelled, Omit<TextareaHTMLAttributes, 'label'> {
  name: string
  lines: readonly string[] | undefined
}

/** A field with a value on each line. */
export const Lines = ({ label, hint, lines = [], ...area }: LinesProps) => (
  <Field label={label} hint={hint} name={area.name}>
    <textarea rows={3} defaultValue={lines.join('\n')} {...area} />
  </Field>
)

/** A box to tick. */
export const Check = ({ label, ...input }: { label: string; name?: string } & Attributes) => (
  <label class="check">
    {h('input', { type: 'checkbox', ...input })} {label}
  </label>
)

type Choices = readonly (readonly [value: string, text: string])[]

interface CheckListProps {
  label: string
  name: string
  choices: Choices
  checked: readonly string[]
  class?: string
}

/** Boxes of which several may be ticked. */
export function CheckList({ label, name, choices, checked, class: list }: CheckListProps) {
  const boxes = choices.map(([value, text]) => (
    <Check key={value} label={text} name={name} value={value} defaultChecked={checked.includes(value)} />
  ))
  return (
    <fieldset class="field">
      <legend>{label}</legend>
      {list === undefined ? boxes : <div class={list}>{boxes}</div>}
    </fieldset>
  )
}

interface ChooseProps {
  value: string | undefined
  choices: Choices
  name?: string
  class?: string
  'aria-label'?: string
  onChoose: (value: string) => void
}

/** A list of choices that acts at once. The other attributes are the list's. */
export const Choose = ({ choices, onChoose, ...select }: ChooseProps) => (
  <select {...select} onChange={(event) => onChoose(event.currentTarget.value)}>
    {choices.map(([each, text]) => (
      <option key={each} value={each}>
        {text}
      </option>
    ))}
  </select>
)

interface SelectProps {
  /** The name by which the form reads it, and the choice at first; the reader's own stays when the form is drawn again. */
  name: string
  value: string
  choices: Choices
}

/** A field with a list of choices. */
export const Select = ({ label, hint, name, value, choices }: Labelled & SelectProps) => (
  <Field label={label} hint={hint} name={name}>
    <select name={name}>
      {choices.map(([each, text]) => (
        <option key={each} value={each} selected={each === value}>
          {text}
        </option>
      ))}
    </select>
  </Field>
)

/** A text field of a form as a string; empty if it is absent. */
export const textOf = (fields: FormData, name: string): string => passwordOf(fields, name).trim()
/** A password as it was typed: a space at an end belongs to it. */
export const passwordOf = (fields: FormData, name: string): string => {
  const value = fields.get(name)
  return typeof value === 'string' ? value : ''
}
/** Whether a box is ticked. */
export const isChecked = (fields: FormData, name: string): boolean => fields.get(name) !== null
/** The choices that are ticked. */
export const checkedOf = <T extends string>(fields: FormData, name: string, choices: readonly T[]): T[] =>
  choices.filter((choice) => fields.getAll(name).includes(choice))
/** The lines of a field that are not empty. */
export const linesOf = (fields: FormData, name: string): string[] =>
  textOf(fields, name)
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
/** A day of a form as the instant at which it begins in the site's zone. */
export const dayOfForm = (fields: FormData, name: string): string | undefined => {
  const day = textOf(fields, name)
  return day === '' ? undefined : new Date(instantOf(`${day}T00:00`, timeZone.value)).toISOString()
}
