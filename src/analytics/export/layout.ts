import { z } from 'zod'

/** A column of a table: the path of its value in a row of `data`, and its kind. */
export interface LayoutColumn {
  /** The path with dots: `people.before`. */
  readonly name: string
  readonly path: readonly string[]
  /** `list`: a list of plain values; `json`: an object with any keys. */
  readonly kind: 'text' | 'number' | 'share' | 'list' | 'json'
  /** Set if a row may lack it. */
  readonly optional?: boolean
  /** Set for an inherited column that says more about the outer row than which it is; not printed. */
  readonly describes?: boolean
}

/** A table of a response. Rows that contain rows make a tree of tables. */
export interface TableLayout {
  readonly name: string
  /** The path from the outer row to these rows: one object or a list. */
  readonly path: readonly string[]
  /** Columns of the outer rows, which name the row that these belong to. */
  readonly inherited: readonly LayoutColumn[]
  readonly columns: readonly LayoutColumn[]
  /** False for a table that has only columns that its inner tables inherit. */
  readonly visible: boolean
  /** Whether inner tables inherit the columns that name a row. */
  readonly passesNames: boolean
  readonly tables: readonly TableLayout[]
}

interface LayoutOptions {
  /** Requested metrics, in their order. Another metric of the schema becomes a column only if `data` contains it. */
  readonly metrics: ReadonlySet<string>
  /** The names of all metrics. */
  readonly known: ReadonlySet<string>
  /** Whether the query compares with another window. */
  readonly compared: boolean
  /** The response, or its first part. */
  readonly data: unknown
}

/** One row of a file: its cells belong to the `inherited` columns, then to `columns`. */
export interface LayoutRow {
  readonly table: TableLayout
  readonly cells: readonly unknown[]
}

/** Returns the tables of a read from the schema of its `data`: the same for the same query, whatever rows it finds. */
export const createLayout = (name: string, schema: z.ZodType, options: LayoutOptions): TableLayout =>
  createTableLayout({ name, path: [], schema, above: [], root: true }, { ...options, seen: collectNames(options.data) })

/** Collects every field name, at any depth. */
function collectNames(data: unknown, names = new Set<string>()): Set<string> {
  if (Array.isArray(data)) for (const one of data) collectNames(one, names)
  else if (isObject(data))
    for (const [name, value] of Object.entries(data)) {
      names.add(name)
      if (isObject(value)) collectNames(value, names)
    }
  return names
}

/** Lists the visible tables, outer ones first. */
export const visibleTables = (layout: TableLayout): TableLayout[] => [
  ...(layout.visible ? [layout] : []),
  ...layout.tables.flatMap((table) => visibleTables(table)),
]

/** Yields the rows of a response, each before its inner rows. */
export function* layoutRows(layout: TableLayout, data: unknown, above: readonly unknown[] = []): Generator<LayoutRow> {
  const found = valueAt(data, layout.path)
  for (const row of Array.isArray(found) ? found : found === undefined ? [] : [found]) {
    const own = layout.columns.map((column) => valueAt(row, column.path))
    if (layout.visible) yield { table: layout, cells: above.length === 0 ? own : [...above, ...own] }
    if (layout.tables.length === 0) continue
    const handed = layout.passesNames ? own.filter((_, i) => isNameColumn(layout.columns[i])) : []
    for (const table of layout.tables) yield* layoutRows(table, row, [...above, ...handed])
  }
}

const valueAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((node, key) => (isObject(node) ? Reflect.get(node, key) : undefined), value)
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** Reports whether a column names its row rather than measures it. */
const isNameColumn = (column: LayoutColumn | undefined): boolean =>
  column !== undefined && (column.kind === 'text' || column.kind === 'list' || column.name === 'id')

interface LayoutContext extends LayoutOptions {
  readonly seen: ReadonlySet<string>
}

interface NestedTable {
  readonly path: readonly string[]
  readonly schema: z.ZodType
}

function createTableLayout(
  { name, path, schema, above, root }: NestedTable & { name: string; above: readonly LayoutColumn[]; root: boolean },
  options: LayoutContext,
): TableLayout {
  const given = unwrapSchema(schema)
  const single = !(given instanceof z.ZodArray)
  const row = single ? given : unwrapSchema(given.element)
  const { columns, nested } = splitSchema(root && single ? withoutAbsentLists(row, options.data) : row, options)
  const shown = nested.length === 0 || columns.some((column) => !isNameColumn(column))
  // The single row of a response has a table of its own and needs no name.
  const hands = !(root && single && shown)
  const names = hands ? columns.filter(isNameColumn) : []
  // The first of them identify the row, up to one that a row may lack.
  const described = names.findIndex(({ optional }, i) => i > 0 && optional)
  const handed = names.map((column, i) => (described > 0 && i >= described ? { ...column, describes: true } : column))
  const taken = new Set(columns.map((column) => column.name))
  const inherited = above.map((column) => (taken.has(column.name) ? { ...column, name: `of.${column.name}` } : column))
  return {
    name,
    path,
    inherited,
    columns,
    visible: shown,
    passesNames: hands,
    tables: nested.map((inner) => {
      const own = inner.path.join('.')
      const called = root && single ? own : `${name}.${own}`
      return createTableLayout({ ...inner, name: called, above: [...inherited, ...handed], root: false }, options)
    }),
  }
}

/**
 * Returns the schema of a response without optional lists that it lacks: those of the other readership. A response that has
 * nothing keeps its columns.
 */
function withoutAbsentLists(schema: z.ZodType, data: unknown): z.ZodType {
  if (!(schema instanceof z.ZodObject) || !isObject(data) || Object.keys(data).length === 0) return schema
  const kept = Object.entries(schema.shape).filter(
    ([name, inner]) => name in data || !(inner instanceof z.ZodOptional && unwrapSchema(inner) instanceof z.ZodArray),
  )
  return z.object(Object.fromEntries(kept))
}

/** Splits a row's schema into columns, including those of nested objects, and lists of rows. */
function splitSchema(schema: z.ZodType, options: LayoutContext): { columns: LayoutColumn[]; nested: NestedTable[] } {
  const columns: LayoutColumn[] = []
  const nested: NestedTable[] = []
  const visit = (given: unknown, path: readonly string[]) => {
    const node = unwrapSchema(given)
    const add = (kind: LayoutColumn['kind']) =>
      columns.push({ name: path.join('.'), path, kind, optional: given instanceof z.ZodOptional })
    const key = path.at(-1) ?? ''
    if (key === 'comparison' && !options.compared) return
    if (node instanceof z.ZodObject) {
      for (const [name, inner] of Object.entries(node.shape)) visit(inner, [...path, name])
    } else if (node instanceof z.ZodArray) {
      const element = unwrapSchema(node.element)
      if (element instanceof z.ZodObject) nested.push({ path, schema: node })
      else add('list')
    } else if (node instanceof z.ZodRecord) {
      const keys = unwrapSchema(node.keyType)
      if (path.length === 1 && (key === 'comparison' || key === 'change')) return
      if (!(keys instanceof z.ZodEnum)) add('json')
      else for (const name of keys.options) visit(node.valueType, [...path, String(name)])
    } else if (node instanceof z.ZodNumber) {
      const stranger =
        path.length === 1 && options.known.has(key) && !options.metrics.has(key) && !options.seen.has(key)
      if (!stranger) add(node.maxValue === 1 && !node.isInt ? 'share' : 'number')
    } else add('text')
  }
  visit(schema, [])
  const metrics = [...options.metrics].flatMap((metric) =>
    columns.filter(({ name, kind }) => name === metric && kind !== 'list'),
  )
  const first = columns.findIndex((column) => metrics.includes(column))
  const ordered = [
    ...columns.slice(0, Math.max(first, 0)),
    ...metrics,
    ...columns.slice(Math.max(first, 0)).filter((column) => !metrics.includes(column)),
  ]
  if (
    options.compared &&
    schema instanceof z.ZodObject &&
    unwrapSchema(schema.shape.comparison) instanceof z.ZodRecord
  ) {
    for (const group of ['comparison', 'change'])
      ordered.push(
        ...metrics.map((column): LayoutColumn => {
          const path = [group, column.name]
          return { name: path.join('.'), path, kind: group === 'change' ? 'number' : column.kind }
        }),
      )
  }
  return { columns: ordered, nested }
}

/** Removes optional, nullable and default wrappers. */
function unwrapSchema(schema: unknown): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return unwrapSchema(schema.unwrap())
  return schema instanceof z.ZodType ? schema : z.unknown()
}
