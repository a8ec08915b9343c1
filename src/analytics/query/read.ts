import { z } from 'zod'
import type { Window } from './calendar.js'
import { ENVELOPE_SHAPE, PAGING_SHAPE, parseParameters } from './envelope.js'
import { describeAudience, type ReadAudience } from './read-audience.js'
import type { ReadContext } from './read-context.js'

/** The result of a read: `data`, and the number of rows in it. */
interface ReadResult {
  readonly data: unknown
  readonly rows: number
  /** Values that replace those of `meta.query`: for example a granularity that the read chose itself. */
  readonly query?: Readonly<Record<string, unknown>>
}

/** One read endpoint: everything that the runner, the routes, the API document and the tests know about it. */
export interface Read {
  /** The URL's path, `/api/stats/funnel/{id}`; the file has the same path below `src/analytics/reads`. */
  readonly path: string
  readonly summary: string
  /** All query parameters: the envelope's, paging for lists, and the read's own. */
  readonly query: z.ZodRawShape
  /** The shape of `data`. */
  readonly data: z.ZodType
  readonly list: boolean
  readonly audience: ReadAudience
  /** Overrides the requested comparison; `required`: with the window before, unless the request names another. */
  readonly compare?: 'previous' | 'none' | 'required'
  /** True for a read that is about sections, whatever is requested. */
  readonly usesSections?: true
  /** Overrides the requested window. */
  window?(now: Date): Window
  /** Returns true for values of an envelope parameter that this read takes for a parameter of its own. */
  ownsParameter?(name: string, value: string): boolean
  /** A result that depends on no site and no window. */
  readonly staticResult?: ReadResult
  /** Parses the read's own parameters and path words; `run` then computes the result. */
  prepare(
    query: URLSearchParams,
    words: Readonly<Record<string, string>>,
  ): { params: Readonly<Record<string, unknown>>; run(context: ReadContext): Promise<ReadResult> }
}

interface ReadDefinition<P extends z.ZodRawShape>
  extends Pick<Read, 'path' | 'summary' | 'data' | 'window' | 'compare' | 'usesSections' | 'ownsParameter'> {
  params: P
  list?: boolean
  audience?: ReadAudience
  /** `words` are the words of the path by name, unparsed. */
  run(
    context: ReadContext,
    params: z.output<z.ZodObject<P>>,
    words: Readonly<Record<string, string>>,
  ): Promise<ReadResult>
  /** Computes what agents have of a read that is about people; absent: they have nothing of it. */
  runForAgents?(
    context: ReadContext,
    params: z.output<z.ZodObject<P>>,
    words: Readonly<Record<string, string>>,
  ): Promise<ReadResult>
}

/** Creates a read with the envelope's parameters, paging if it is a list, and its own. The default audience is people. */
export function defineRead<P extends z.ZodRawShape>(definition: ReadDefinition<P>): Read {
  const { params: shape, list = false, audience = { default: 'human' }, run, ...all } = definition
  const { runForAgents = async () => nothingOf(all.data), ...rest } = all
  const schema = z.object(shape)
  const isForPeople = 'peopleOnly' in audience && audience.peopleOnly !== undefined
  return {
    ...rest,
    list,
    audience,
    query: { ...ENVELOPE_SHAPE, audience: describeAudience(audience), ...(list ? PAGING_SHAPE : {}), ...shape },
    prepare(query, words) {
      const params = parseParameters(schema, query)
      return {
        params,
        run: (context) =>
          (isForPeople && context.plan.audience === 'agent' ? runForAgents : run)(context, params, words),
      }
    },
  }
}

/** The result of a read that has nothing for agents: an empty list, or an object without what people have. */
const nothingOf = (data: z.ZodType): ReadResult => ({ data: data instanceof z.ZodArray ? [] : {}, rows: 0 })

/** Creates a read whose result is constant: it takes no parameters. */
export const defineStaticRead = (read: Pick<Read, 'path' | 'summary' | 'data'>, staticResult: ReadResult): Read => ({
  ...read,
  staticResult,
  list: false,
  audience: { default: 'human' },
  query: {},
  prepare: () => ({ params: {}, run: async () => staticResult }),
})
