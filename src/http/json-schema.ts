import { z } from 'zod'
import { DIMENSIONS } from '../query/dimensions.js'
import { OPERATORS } from '../query/operators.js'

/** A JSON Schema (2020-12, which OpenAPI 3.1 has as its own). */
export type JsonSchema = z.core.JSONSchema.JSONSchema

export const componentRef = (kind: 'schemas' | 'responses' | 'parameters', name: string) => ({
  $ref: `#/components/${kind}/${name}`,
})

/** What zod says that a reader of the document needs not be told: its own bounds, and patterns beside a format. */
function simplify(schema: JsonSchema): void {
  if (schema.format !== undefined || schema.type === 'integer') delete schema.pattern
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  // What an answer has in a later version is no fault of the answer.
  if (schema.additionalProperties === false) delete schema.additionalProperties
  const { propertyNames, additionalProperties } = schema
  if (typeof propertyNames === 'object' && propertyNames.enum && typeof additionalProperties === 'object') {
    schema.properties = Object.fromEntries(propertyNames.enum.map((name) => [String(name), additionalProperties]))
    delete schema.additionalProperties
  }
  delete schema.propertyNames
}

/**
 * A zod schema as JSON Schema: `input` is what a caller sends, `output` what is answered. What has an id, and what holds
 * itself, goes into `named` and is referred to.
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
    // What holds itself has no name of its own, and the same one in every schema.
    let known = name.startsWith('__') ? 'Nested' : name
    while (named[known] && name.startsWith('__')) known += '_'
    all = all.replaceAll(`"#/$defs/${name}"`, `"#/components/schemas/${known}"`)
    named[known] = {}
    all = all.replace(`"${name}":`, `"${known}":`)
  }
  const parts: { own: JsonSchema; defs: Record<string, JsonSchema> } = JSON.parse(all)
  Object.assign(named, parts.defs)
  return parts.own
}

/** The `filters` parameter (contract 4), in canonical names: a condition, a group of them, or a list, which is AND. */
export const FILTER_SCHEMAS: Record<string, JsonSchema> = {
  Filters: {
    description: 'A list of filters, all of which have to hold, or one. At most 50 conditions, nested at most 5 deep.',
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
        description: 'Which of them an audience has, and names that are taken too: GET /api/stats/dimensions.',
        anyOf: [
          { type: 'string', enum: DIMENSIONS.map(({ name }) => name) },
          { type: 'string', pattern: '^prop:.+', description: 'A property of events, by its key.' },
        ],
      },
      op: { type: 'string', enum: OPERATORS.map(({ name }) => name) },
      value: {
        description:
          'What it is compared with: one, or a list of which any (under a negative: none) has to be; two numbers for `between`, none for `is_set`. Patterns are RE2, at most 500 characters.',
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
