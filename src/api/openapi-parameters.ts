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
  /** For values that are JSON in the query string. */
  content?: Content
  example?: unknown
}
export type Content = Record<string, { schema: JsonSchema; example?: unknown }>
export interface Reference {
  $ref: string
}

/** Chooses an example value: the default, otherwise the first accepted value, otherwise the one of a recorded request. */
function chooseExample(
  { default: fallback, enum: values, minimum, type }: JsonSchema,
  recorded: string | null | undefined,
): unknown {
  const example = fallback ?? values?.[0] ?? minimum
  if (example !== undefined || recorded === null || recorded === undefined) return example
  return type === 'integer' ? Number(recorded) : recorded
}

function describeParameter(
  name: string,
  type: z.ZodType,
  place: Parameter['in'],
  recorded: string | null | undefined,
  schemaOf: (type: z.ZodType) => JsonSchema,
): Parameter {
  const { example: declared, description, contentSchema, ...schema } = schemaOf(type)
  const unset = type.safeParse(undefined)
  if (unset.success && unset.data !== undefined) schema.default = unset.data
  const example = declared ?? chooseExample(schema, recorded)
  const parameter = {
    name,
    in: place,
    required: place === 'path' || !unset.success,
    ...(description === undefined ? {} : { description }),
  }
  if (contentSchema !== undefined)
    return {
      ...parameter,
      content: { 'application/json': { schema: contentSchema, example: JSON.parse(String(example)) } },
    }
  return { ...parameter, schema, ...(example === undefined ? {} : { example }) }
}

/** Caches the schemas of parameters: most belong to the envelope that every read has. */
export function createParameterSchemas(schemas: Record<string, JsonSchema>): (type: z.ZodType) => JsonSchema {
  const cache = new Map<z.ZodType, JsonSchema>()
  return (type) => {
    const schema = cache.get(type) ?? toJsonSchema(type, 'input', schemas)
    cache.set(type, schema)
    return schema
  }
}

/** Describes the parameters of a route, path parameters first. */
export function describeParameters(
  route: Route,
  call: Example | undefined,
  schemaOf: (type: z.ZodType) => JsonSchema,
): Parameter[] {
  const url = call && new URL(call.request, 'http://x')
  const pattern = new RegExp(`^${route.path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)
  const values = pattern.exec(url?.pathname ?? '')?.groups
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].flatMap(([, name]) => (name === undefined ? [] : [name]))
  return [
    ...inPath.map((name) => describeParameter(name, route.pathParameter ?? Id, 'path', values?.[name], schemaOf)),
    ...Object.entries(route.query?.shape ?? {}).flatMap(([name, type]) =>
      type instanceof z.ZodType ? [describeParameter(name, type, 'query', url?.searchParams.get(name), schemaOf)] : [],
    ),
  ]
}

/** Moves parameters that several operations have into shared components, and returns those by name. */
export function shareParameters(operations: { parameters?: (Parameter | Reference)[] }[]): Record<string, Parameter> {
  const shared: Record<string, Parameter> = {}
  const uses = new Map<string, number>()
  const names = new Map<string, string>()
  const texts = new Map<object, string>()
  const textOf = (parameter: object) => {
    const text = texts.get(parameter) ?? JSON.stringify(parameter)
    texts.set(parameter, text)
    return text
  }
  for (const parameter of operations.flatMap(({ parameters }) => parameters ?? []))
    uses.set(textOf(parameter), (uses.get(textOf(parameter)) ?? 0) + 1)
  const share = (parameter: Parameter): Reference => {
    let name = names.get(textOf(parameter)) ?? parameter.name
    // Two parameters can have one name: `start` of a window, and of a journey.
    for (let other = shared[name]; other && textOf(other) !== textOf(parameter); other = shared[name]) name += '_'
    names.set(textOf(parameter), name)
    shared[name] = parameter
    return componentRef('parameters', name)
  }
  for (const operation of operations)
    if (operation.parameters)
      operation.parameters = operation.parameters.map((parameter) =>
        '$ref' in parameter || (uses.get(textOf(parameter)) ?? 0) < 2 ? parameter : share(parameter),
      )
  return shared
}
