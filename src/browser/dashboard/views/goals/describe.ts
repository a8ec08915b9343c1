import { formatSeconds, formatShare } from '../../state/format.js'
import { t } from '../../texts/index.js'
import { type Condition, valueText } from './condition.js'

const test = ({ op, value }: Pick<Condition['match'], 'op' | 'value'>): string => {
  const { shell, behaviour } = t()
  if (op === 'is_set') return behaviour.goals.any
  return `${shell.operators[op] ?? op} ${valueText(value).replaceAll('\n', ` ${shell.or} `)}`
}

/** Says in words what a goal or a step looks for. */
export function describeCondition({ type, match }: Condition): string {
  const { behaviour, shell } = t()
  const texts = behaviour.goals
  if (type === 'duration') return texts.longerThan(formatSeconds(Number(match.value)))
  if (type === 'scroll')
    return `${texts.deeperThan(formatShare(Number(match.value) / 100, 0))}${match.pathname ? ` (${test(match.pathname)})` : ''}`
  const props = (match.props ?? []).map((prop) => `${prop.key} ${test(prop)}`)
  return [`${texts.nouns[type]}${match.op === 'is_set' ? ':' : ''} ${test(match)}`, ...props].join(` ${shell.and} `)
}
