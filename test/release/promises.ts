import { resolve } from 'node:path'
import ts from 'typescript'
import { z } from 'zod'
import { addInstanceMetrics, type MetricAdder } from '../../src/api/metrics.js'
import { addShippingMetrics } from '../../src/api/shipping-app.js'
import { listFlags, listSettings } from '../../src/app/cli/command.js'
import { EXIT_CODES } from '../../src/app/cli/exit-codes.js'
import { COMMANDS } from '../../src/app/cli/program.js'
import { SETTINGS } from '../../src/app/config.js'
import { PUBLISHED_MODULES } from '../../src/build/library.js'
import { COLUMN_TYPES, VITAL_COLUMNS } from '../../src/storage/columns.js'

/*
 * Lists what a version promises, one line each, so that two versions can be compared: a line that is gone is a break, and so
 * is a new line of `requires`. Each line begins with its part, as src/docs/versions.md names them.
 */

/** Returns the promises of this checkout, sorted; `document` is what `/api/openapi.json` responds with. */
export const listPromises = (document: unknown): string[] =>
  [
    ...apiPromises(Document.parse(document)),
    ...commandPromises(),
    ...metricPromises(),
    ...exportPromises(),
    ...columnPromises(),
  ].sort()

interface Schema {
  readonly [key: string]: unknown
}
const Schema: z.ZodType<Schema> = z.record(z.string(), z.unknown())
const Content = z.object({ content: z.record(z.string(), z.object({ schema: Schema.optional() })).optional() })
const Parameter = z.object({
  name: z.string(),
  in: z.string(),
  required: z.boolean().optional(),
  schema: Schema.optional(),
})
const Operation = z.object({
  parameters: z.array(Schema).optional(),
  requestBody: Content.extend({ required: z.boolean().optional() }).optional(),
  responses: z.record(z.string(), Schema),
})
const Document = z.looseObject({ paths: z.record(z.string(), z.record(z.string(), Operation)) })
type Document = z.infer<typeof Document>

function apiPromises(document: Document): string[] {
  /** Follows a reference within the document. */
  const follow = (schema: Schema): Schema => {
    if (typeof schema.$ref !== 'string') return schema
    let at: unknown = document
    for (const key of schema.$ref.replace('#/', '').split('/')) at = Schema.parse(at)[key]
    return follow(Schema.parse(at))
  }
  const fields = (schema: Schema, path: string, isRequest: boolean, depth = 0): string[] => {
    const one = follow(schema)
    const variants = z.array(Schema).safeParse(one.oneOf ?? one.anyOf ?? one.allOf)
    const properties = z.record(z.string(), Schema).safeParse(one.properties)
    const required = z.array(z.string()).safeParse(one.required).data ?? []
    const values = z.array(z.unknown()).safeParse(one.enum).data ?? []
    // A response may gain a value; a request must keep each that it takes.
    const lines = isRequest ? values.map((value) => `${path} takes ${JSON.stringify(value)}`) : []
    if (depth > 12) return lines
    if (variants.success)
      for (const variant of variants.data) lines.push(...fields(variant, path, isRequest, depth + 1))
    if (typeof one.type === 'string') lines.push(`${path}: ${one.type}`)
    for (const [name, field] of Object.entries(properties.data ?? {}))
      lines.push(...fields(field, `${path}.${name}`, isRequest, depth + 1))
    if (isRequest) for (const name of required) lines.push(`${path}.${name} requires a value`)
    const items = Schema.safeParse(one.items)
    if (items.success) lines.push(...fields(items.data, `${path}[]`, isRequest, depth + 1))
    return lines
  }
  const lines: string[] = []
  for (const [path, operations] of Object.entries(document.paths))
    for (const [method, { parameters = [], requestBody, responses }] of Object.entries(operations)) {
      const call = `api ${method.toUpperCase()} ${path}`
      lines.push(call)
      for (const each of parameters) {
        const { name, in: place, required, schema = {} } = Parameter.parse(follow(each))
        lines.push(...fields(schema, `${call} ${place} ${name}`, true), `${call} ${place} ${name}`)
        if (required) lines.push(`${call} ${place} ${name} requires a value`)
      }
      for (const [type, { schema = {} }] of Object.entries(requestBody?.content ?? {}))
        lines.push(...fields(schema, `${call} body ${type} $`, true))
      for (const [status, response] of Object.entries(responses))
        for (const [type, { schema = {} }] of Object.entries(Content.parse(follow(response)).content ?? {}))
          lines.push(...fields(schema, `${call} ${status} ${type} $`, false))
    }
  return [...new Set(lines)]
}

function commandPromises(): string[] {
  const lines = SETTINGS.map(({ name, env, flag = '' }) => `setting ${name} ${env} ${flag}`.trim())
  for (const command of COMMANDS) {
    lines.push(`command ${command.name}`)
    for (const { syntax } of command.arguments ?? [])
      lines.push(`command ${command.name} argument ${syntax}${syntax.startsWith('<') ? ' requires a value' : ''}`)
    for (const { syntax, doc } of listFlags(command))
      lines.push(
        `command ${command.name} flag ${syntax}`,
        ...(doc.endsWith(' (required)') ? [`command ${command.name} flag ${syntax} requires a value`] : []),
      )
    for (const setting of listSettings(command)) lines.push(`command ${command.name} setting ${setting}`)
  }
  return [...lines, ...EXIT_CODES.map(([code]) => `command exit code ${code}`)]
}

/** Every metric with its type and labels, also those that only a proxy, a shipper or several processes have. */
function metricPromises(): string[] {
  const lines: string[] = []
  const add: MetricAdder['add'] = (name, _help, labels) => {
    const type = name.endsWith('_total') ? 'counter' : 'gauge'
    lines.push(`metric ${name} ${type}`, ...labels.map((label) => `metric ${name} label ${label}`))
  }
  const adder: MetricAdder = {
    add,
    addEach: (name, help, label) => add(name, help, [label], () => []),
    addOne: (name, help) => add(name, help, [], () => []),
  }
  /** Stands for what a metric reads when it is scraped, which never happens here. */
  const unread = (): never => {
    throw new Error('No metric is scraped here.')
  }
  const common = { ingestDrops: unread, proxy: unread, rules: unread }
  const more = {
    health: unread,
    recorder: unread,
    isWriter: unread,
    size: unread,
    disk: unread,
    backups: unread,
    shared: unread,
  }
  addInstanceMetrics(adder, { ...common, ...more })
  addShippingMetrics(adder, { ...common, shipping: unread, rulesAge: unread })
  return [...new Set(lines)]
}

/** Lists what each published module exports, and the members of its public types. */
function exportPromises(): string[] {
  const files = Object.entries(PUBLISHED_MODULES).map(([name, file]) => ({
    name: name === 'index' ? 'readership' : `readership/${name}`,
    file: resolve('dist/types', `${file}.d.ts`),
  }))
  const program = ts.createProgram(
    files.map(({ file }) => file),
    {
      module: ts.ModuleKind.NodeNext,
      target: ts.ScriptTarget.ES2023,
      strict: true,
      types: ['node'],
      skipLibCheck: true,
    },
  )
  const checker = program.getTypeChecker()
  const typeOf = (symbol: ts.Symbol): string =>
    checker.typeToString(checker.getTypeOfSymbol(symbol), undefined, ts.TypeFormatFlags.NoTruncation)
  const lines: string[] = []
  for (const { name: module, file } of files) {
    const source = program.getSourceFile(file)
    const symbol = source && checker.getSymbolAtLocation(source)
    if (source === undefined || symbol === undefined) throw new Error(`${file} exports nothing: run npm run build.`)
    for (const exported of checker.getExportsOfModule(symbol)) {
      const target = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
      const isValue = (target.flags & ts.SymbolFlags.Value) !== 0
      const shape = isValue && !(target.flags & ts.SymbolFlags.Class) ? `: ${typeOf(target)}` : ''
      lines.push(`export ${module} ${isValue ? 'value' : 'type'} ${exported.name}${shape}`)
      if (!(target.flags & ts.SymbolFlags.Interface)) continue
      // The paths of the client are those of the API, which has lines of its own.
      if (exported.name === 'paths') continue
      for (const member of checker.getDeclaredTypeOfSymbol(target).getProperties()) {
        const isOptional = (member.flags & ts.SymbolFlags.Optional) !== 0
        lines.push(`export ${module} type ${exported.name}.${member.name}: ${typeOf(member)}`)
        if (!isOptional) lines.push(`export ${module} type ${exported.name}.${member.name} requires a value`)
      }
    }
  }
  return lines
}

const columnPromises = (): string[] =>
  Object.entries(COLUMN_TYPES).flatMap(([table, columns]) =>
    Object.entries(columns).flatMap(([column, type]) =>
      type === 'vitals'
        ? VITAL_COLUMNS.map((name) => `column ${table}.${name} double`)
        : `column ${table}.${column} ${String(type)}`,
    ),
  )
