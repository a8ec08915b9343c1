import type { JsonSchema } from './json-schema.js'

/** One field of a payload, as the API documentation shows it. */
export interface SchemaField {
  /** `data[].pathname` */
  path: string
  type: string
  required: boolean
  description: string
}

const isSchema = (one: unknown): one is JsonSchema => typeof one === 'object' && one !== null && !Array.isArray(one)

/** Describes a type in a few words: `integer, 1 to 1000`, `one of a, b`. */
export function describeType(schema: JsonSchema): string {
  const named = schema.$ref?.split('/').at(-1)
  if (named !== undefined) return named
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return `one of ${schema.enum.join(', ')}`
  const either = schema.anyOf ?? schema.oneOf
  if (either) return [...new Set(either.filter(isSchema).map(describeType))].join(' or ')
  const { type, format, minimum, maximum, items, maxLength } = schema
  if (type === 'array') return isSchema(items) ? `list of ${describeType(items)}` : 'list'
  const name = format === 'date-time' ? 'instant' : [type ?? 'any'].flat().join(' or ')
  const bounds =
    minimum !== undefined && maximum !== undefined
      ? `, ${minimum} to ${maximum}`
      : minimum !== undefined
        ? `, from ${minimum}`
        : maxLength !== undefined
          ? `, at most ${maxLength} characters`
          : ''
  return `${name}${bounds}`
}

/** Lists all fields of a schema, parents first. Schemas that have a name of their own are not expanded. */
export function listFields(schema: JsonSchema, path = ''): SchemaField[] {
  const { properties = {}, required = [], items, additionalProperties } = schema
  const fields = Object.entries(properties).flatMap(([name, one]): SchemaField[] => {
    if (!isSchema(one)) return []
    const at = path ? `${path}.${name}` : name
    const field = {
      path: at,
      type: describeType(one),
      required: required.includes(name),
      description: one.description ?? '',
    }
    return one.$ref ? [field] : [field, ...listFields(one, at)]
  })
  const inner = isSchema(items) && !items.$ref ? listFields(items, `${path}[]`) : []
  const rest =
    isSchema(additionalProperties) && additionalProperties.properties
      ? listFields(additionalProperties, `${path}.*`)
      : []
  return [...fields, ...inner, ...rest]
}
