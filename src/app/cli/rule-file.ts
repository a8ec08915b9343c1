import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import { z } from 'zod'
import { Failure } from './terminal.js'

const Fields = z.record(z.string(), z.unknown())

/** Fields that a stored rule has beside its own: the service sets them. */
const RECORD_FIELDS = ['id', 'version', 'site', 'position', 'changed_at', 'changed_by', 'ended']

/** Returns a rule, as `rules list --json` prints it or as its author wrote it, without the fields of its record. */
export const withoutRecord = (rule: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(rule).filter(([name]) => !RECORD_FIELDS.includes(name)))

/** Reads the rules of a file: JSON or YAML, a list of rules, one rule, or a list under `rules`. */
export async function readRuleFile(file: string): Promise<Record<string, unknown>[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Failure(`${file} cannot be read: ${error.code ?? error.message}.`)
  })
  let content: unknown
  try {
    content = parse(text)
  } catch (cause) {
    const [why] = cause instanceof Error ? cause.message.split('\n') : ['']
    throw new Failure(`${file} is neither JSON nor YAML: ${why}`, 2, { cause })
  }
  const listed = z.object({ rules: z.array(Fields) }).safeParse(content)
  const rules = listed.success ? listed.data.rules : Array.isArray(content) ? content : [content]
  const parsed = z.array(Fields).min(1).safeParse(rules)
  if (!parsed.success) throw new Failure(`${file} must have a rule, or a list of rules.`, 2)
  return parsed.data
}
