import type { ExportedRules } from './exported-rules.js'

/**
 * Returns the comment at the top of an exported text, each line after `mark`: its rules in their order, where it belongs, and
 * what it leaves out.
 */
export const header = (
  mark: string,
  place: string,
  { rules, leftOut }: Pick<ExportedRules, 'rules' | 'leftOut'>,
): string =>
  [
    `Rules for agents, exported by readership. ${place}`,
    'The first rule that matches decides:',
    ...rules.map(({ rule }) => `  ${rule.id} ${rule.action} ${rule.name}`),
    ...(leftOut.length > 0 ? ['What this text leaves out:', ...leftOut.map((line) => `  ${line}`)] : []),
  ]
    .map((line) => `${mark} ${line}\n`)
    .join('')
