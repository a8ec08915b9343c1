import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { DayCount, Fingerprint, parseLine } from './read-events.js'
import { copyFormat } from './read-records.js'
import type { Source } from './source.js'
import type { Cells, Unit } from './tables.js'

/** A client of the control socket. */
interface ControlClient {
  readonly running: boolean
  call(method: 'GET', path: string): Promise<unknown>
  textLines(path: string): AsyncIterable<string>
}

const ROWS_PER_CHUNK = 1_000
const Response = z.object({ data: z.unknown() })
const NotFound = z.object({ cause: z.object({ code: z.literal('not_found') }) })
const Start = z.object({ format: z.string(), origin: z.string() })
const RecordRow = z.record(
  z.string(),
  z.unknown().transform((value) => {
    if (typeof value !== 'string') return value
    return value.startsWith('d') ? new Date(Number(value.slice(1))) : value.slice(1)
  }),
)

/** Opens the files of a data directory as a source, through the instance that has them open. */
export async function openInstanceSource(client: ControlClient, data: string): Promise<Source> {
  const started = await client.call('GET', '/control/copy').catch((error: unknown) => {
    throw NotFound.safeParse(error).success ? new Error(DIFFERENT_VERSION, { cause: error }) : error
  })
  const { format, origin } = Start.parse(Response.parse(started).data)
  if (format !== copyFormat()) throw new Error(DIFFERENT_VERSION)
  const get = async <T extends z.ZodType>(path: string, query: Query, shape: T): Promise<z.output<T>> =>
    shape.parse(Response.parse(await client.call('GET', `/control/copy/${path}?${formatQuery(query)}`)).data)
  return {
    origin,
    listDays: ({ name }) => get('days', { table: name }, z.array(DayCount)),
    listFingerprints: ({ name }, first, last) =>
      get('fingerprints', { table: name, first, last }, z.array(Fingerprint)),
    streamRows: (unit) => streamRows(client, unit),
    async readRecords(table) {
      const rows: z.output<typeof RecordRow>[] = []
      for await (const line of client.textLines(`/control/copy/records?${formatQuery({ table })}`))
        rows.push(RecordRow.parse(JSON.parse(line)))
      return rows
    },
    readSalts: () => readText(join(data, 'salts.json')),
    isInUse: () => client.running,
    async close() {},
  }
}

const DIFFERENT_VERSION = 'the running readership is of another version than this command: use the same for both.'

async function* streamRows(client: ControlClient, { table, day }: Unit): AsyncGenerator<Cells[]> {
  let rows: Cells[] = []
  try {
    for await (const line of client.textLines(`/control/copy/rows?${formatQuery({ table: table.name, day })}`)) {
      rows.push(parseLine(line))
      if (rows.length < ROWS_PER_CHUNK) continue
      yield rows
      rows = []
    }
  } catch (cause) {
    throw new Error('the source stopped while its rows were read: run this again.', { cause })
  }
  if (rows.length > 0) yield rows
}

type Query = Readonly<Record<string, string | number>>
const formatQuery = (query: Query): string =>
  Object.entries(query)
    .map(([name, value]) => `${name}=${value}`)
    .join('&')

/** Returns a file's text; undefined if it does not exist. */
const readText = (file: string): Promise<string | undefined> =>
  readFile(file, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  })
