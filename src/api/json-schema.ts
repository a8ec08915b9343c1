import { z } from 'zod'
import { DIMENSIONS } from '../analytics/query/dimensions.js'
import { OPERATORS } from '../analytics/query/operators.js'

/** A JSON Schema (2020-12, the version of OpenAPI 3.1). */
export type JsonSchema = z.core.JSONSchema.JSONSchema

export const componentRef = (kind: 'schemas' | 'responses' | 'parameters', name: string) => ({
  $ref: `#/components/${kind}/${name}`,
})

/** Removes what zod adds and readers do not need: default bounds, and patterns beside a format. */
function simplify(schema: JsonSchema): void {
  if (schema.format !== undefined || schema.type === 'integer') delete schema.pattern
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  // A later version may add fields to a response.
  if (schema.additionalProperties === false) delete schema.additionalProperties
  const { propertyNames, additionalProperties } = schema
  if (typeof propertyNames === 'object' && propertyNames.enum && typeof additionalProperties === 'object') {
    schema.properties = Object.fromEntries(propertyNames.enum.map((name) => [String(name), additionalProperties]))
    delete schema.additionalProperties
  }
  delete schema.propertyNames
}

/**
 * Converts a zod schema to JSON Schema: `input` for requests, `output` for responses. Schemas with an id and recursive ones
 * are added to `named` and referenced.
 */
export function toJsonSchema(schema: z.ZodType, io: 'input' | 'output', named: Record<string, JsonSchema>): JsonSchema {
  const made = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => simplify(jsonSchema),
  })
  const { $schema, $defs = {}, ...own } = made
  const text = (one: object) => JSON.stringify(one)
  let all = text({ own, defs: $defs })
  for (const name of Object.keys($defs)) {
    // Recursive schemas have no name of their own; zod numbers them afresh in each schema.
    let unique = name.startsWith('__') ? 'Nested' : name
    while (named[unique] && name.startsWith('__')) unique += '_'
    all = all.replaceAll(`"#/$defs/${name}"`, `"#/components/schemas/${unique}"`)
    named[unique] = {}
    all = all.replace(`"${name}":`, `"${unique}":`)
  }
  const parts: { own: JsonSchema; defs: Record<string, JsonSchema> } = JSON.parse(all)
  Object.assign(named, parts.defs)
  return parts.own
}

/** The `filters` parameter in canonical names: a condition, a group, or a list whose filters must all match. */
export const FILTER_SCHEMAS: Record<string, JsonSchema> = {
  Filters: {
    description: 'A list of filters, all of which must match, or one. At most 50 conditions, nested at most 5 deep.',
    anyOf: [{ type: 'array', items: componentRef('schemas', 'Filter') }, componentRef('schemas', 'Filter')],
  },
  Filter: {
    anyOf: [
      componentRef('schemas', 'Condition'),
      ...(['and', 'or'] as const).map((name) => ({
        type: 'object' as const,
        properties: { [name]: { type: 'array' as const, minItems: 1, items: componentRef('schemas', 'Filter') } },
        required: [name],
      })),
      ...(['not', 'has_done', 'has_not_done'] as const).map((name) => ({
        type: 'object' as const,
        properties: { [name]: componentRef('schemas', 'Filter') },
        required: [name],
      })),
    ],
  },
  Condition: {
    type: 'object',
    properties: {
      dimension: {
        description: 'GET /api/stats/dimensions lists the dimensions of each audience and their aliases.',
        anyOf: [
          { type: 'string', enum: DIMENSIONS.map(({ name }) => name) },
          { type: 'string', pattern: '^prop:.+', description: 'A property of events, by its key.' },
        ],
      },
      op: { type: 'string', enum: OPERATORS.map(({ name }) => name) },
      value: {
        description:
          'One value, or a list of which any must match (none for a negative operator); two numbers for `between`, no value for `is_set`. Patterns are RE2 with at most 500 characters.',
        anyOf: [
          { type: ['string', 'number', 'boolean'] },
          { type: 'array', items: { type: ['string', 'number', 'boolean'] }, minItems: 1, maxItems: 1000 },
        ],
      },
      case_sensitive: { type: 'boolean', default: true },
    },
    required: ['dimension', 'op'],
  },
}
