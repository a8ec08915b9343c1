import { z } from 'zod'
import type { Example } from './examples.js'
import { componentRef, type JsonSchema, toJsonSchema } from './json-schema.js'
import { Id, type Route } from './route.js'

export interface Parameter {
  name: string
  in: 'path' | 'query'
  required: boolean
  description?: string
  schema?: JsonSchema
  /** Of a value that is JSON in the query string. */
  content?: Content
  example?: unknown
}
export type Content = Record<string, { schema: JsonSchema; example?: unknown }>
export interface Reference {
  $ref: string
}

/** One value as an example: what it is by itself, else the first that is taken, else the one that was sent. */
function chooseExample(
  { default: fallback, enum: words, minimum, type }: JsonSchema,
  sent: string | null | undefined,
): unknown {
  const known = fallback ?? words?.[0] ?? minimum
  if (known !== undefined || sent === null || sent === undefined) return known
  return type === 'integer' ? Number(sent) : sent
}

function describeParameter(
  name: string,
  type: z.ZodType,
  place: Parameter['in'],
  sent: string | null | undefined,
  made: (type: z.ZodType) => JsonSchema,
): Parameter {
  const { example: said, description, contentSchema, ...schema } = made(type)
  const unset = type.safeParse(undefined)
  if (unset.success && unset.data !== undefined) schema.default = unset.data
  const example = said ?? chooseExample(schema, sent)
  const known = {
    name,
    in: place,
    required: place === 'path' || !unset.success,
    ...(description === undefined ? {} : { description }),
  }
  if (contentSchema !== undefined)
    return {
      ...known,
      content: { 'application/json': { schema: contentSchema, example: JSON.parse(String(example)) } },
    }
  return { ...known, schema, ...(example === undefined ? {} : { example }) }
}

/** `schemaOf` for parameters, made once for each: most are the envelope's, which every read has. */
export function createParameterSchemas(schemas: Record<string, JsonSchema>): (type: z.ZodType) => JsonSchema {
  const known = new Map<z.ZodType, JsonSchema>()
  return (type) => {
    const made = known.get(type) ?? toJsonSchema(type, 'input', schemas)
    known.set(type, made)
    return made
  }
}

/** The parameters of a route, those of its path first. */
export function describeParameters(
  route: Route,
  call: Example | undefined,
  made: (type: z.ZodType) => JsonSchema,
): Parameter[] {
  const url = call && new URL(call.request, 'http://x')
  const pattern = new RegExp(`^${route.path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)
  const words = pattern.exec(url?.pathname ?? '')?.groups
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].flatMap(([, name]) => (name === undefined ? [] : [name]))
  return [
    ...inPath.map((name) => describeParameter(name, route.pathParameter ?? Id, 'path', words?.[name], made)),
    ...Object.entries(route.query?.shape ?? {}).flatMap(([name, type]) =>
      type instanceof z.ZodType ? [describeParameter(name, type, 'query', url?.searchParams.get(name), made)] : [],
    ),
  ]
}

/** Each parameter that several operations have is taken out of them: answers those, by name. */
export function shareParameters(operations: { parameters?: (Parameter | Reference)[] }[]): Record<string, Parameter> {
  const shared: Record<string, Parameter> = {}
  const seen = new Map<string, number>()
  const names = new Map<string, string>()
  const keys = new Map<object, string>()
  const key = (one: object) => {
    const text = keys.get(one) ?? JSON.stringify(one)
    keys.set(one, text)
    return text
  }
  for (const one of operations.flatMap(({ parameters }) => parameters ?? []))
    seen.set(key(one), (seen.get(key(one)) ?? 0) + 1)
  const place = (one: Parameter): Reference => {
    let name = names.get(key(one)) ?? one.name
    // The same word may mean two things: `start` of a window, and of a journey.
    for (let other = shared[name]; other && key(other) !== key(one); other = shared[name]) name += '_'
    names.set(key(one), name)
    shared[name] = one
    return componentRef('parameters', name)
  }
  for (const operation of operations)
    if (operation.parameters)
      operation.parameters = operation.parameters.map((one) =>
        '$ref' in one || (seen.get(key(one)) ?? 0) < 2 ? one : place(one),
      )
  return shared
}
