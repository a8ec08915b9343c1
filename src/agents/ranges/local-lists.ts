import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Prefix } from '../../address.js'
import type { Catalog } from '../catalog.js'
import { detectFormat, isHelpPage, ListError, parseList } from './formats.js'
import { type ListSource, listsOfAgent, sourcesOfCatalog } from './sources.js'

/** The operator's own copy of a list (`--ranges`). */
export interface LocalList {
  file: string
  prefixes: readonly Prefix[]
  /** When the file was last written; milliseconds since 1970. */
  at: number
  prose: boolean
}

/** Whose copies they are: an agent's alone, or everyone's whose list has that URL. */
interface LocalLists {
  byAgent: ReadonlyMap<string, LocalList>
  byUrl: ReadonlyMap<string, LocalList>
  /** Files of a directory that are named after no agent and no list. */
  ignored: readonly string[]
}

const MAX_FILE_BYTES = 16_000_000

/**
 * The operator's own copies, from files and directories. A file is named by the agent's id (`gptbot.json`, `bingbot.txt`)
 * or as the last part of the list's URL (`common-crawlers.json`); the format is the list's own, or what it looks like.
 * Throws one line that names the file where one cannot be read, holds no list, or (named alone) is nobody's.
 */
export function readLocalLists(paths: readonly string[], catalog: Catalog): LocalLists {
  const byAgent = new Map<string, LocalList>()
  const byUrl = new Map<string, LocalList>()
  const ignored: string[] = []
  const sources = sourcesOfCatalog(catalog)
  for (const { file, alone } of paths.flatMap(filesOf)) {
    const whose = ownerOfFile(file, catalog, sources)
    if (typeof whose === 'string') {
      if (alone) throw new Error(`ranges: ${file} ${whose}`)
      ignored.push(file)
      continue
    }
    const [map, key] = 'agent' in whose ? [byAgent, whose.agent] : [byUrl, whose.url]
    const other = map.get(key)
    if (other) throw new Error(`ranges: ${other.file} and ${file} are both the addresses of ${key}`)
    map.set(key, readLocalList(file, whose.formats))
  }
  return { byAgent, byUrl, ignored }
}

function filesOf(path: string): { file: string; alone: boolean }[] {
  try {
    if (!statSync(path).isDirectory()) return [{ file: path, alone: true }]
    return readdirSync(path)
      .filter((name) => !name.startsWith('.'))
      .sort()
      .map((name) => ({ file: join(path, name), alone: false }))
      .filter(({ file }) => statSync(file).isFile())
  } catch (error) {
    throw new Error(`ranges: ${path} cannot be read (${errorCode(error)})`, { cause: error })
  }
}

type Owner = { agent: string; formats: string[] } | { url: string; formats: string[] }

/** Whose file it is; a text where that cannot be said. */
function ownerOfFile(file: string, catalog: Catalog, sources: readonly ListSource[]): Owner | string {
  const name = basename(file)
  const agent = catalog.get(name.replace(/\.[^.]*$/, '').toLowerCase())
  if (agent && !agent.client_side) return { agent: agent.id, formats: listsOfAgent(agent).map(({ format }) => format) }
  const same = sources.filter(({ url }) => lastPart(url) === name)
  const [source, another] = same
  if (source && !another) return { url: source.url, formats: [source.format] }
  return source
    ? `could be ${same.map(({ url }) => url).join(' or ')}: name it after an agent`
    : 'is named after no agent and no published list: name it as in gptbot.json'
}

const lastPart = (url: string) => new URL(url).pathname.split('/').filter(Boolean).at(-1)

function readLocalList(file: string, formats: readonly string[]): LocalList {
  try {
    const found = statSync(file)
    // A pipe would be read for ever.
    if (!found.isFile()) throw new ListError('is no file')
    const { mtimeMs, size } = found
    if (size > MAX_FILE_BYTES) throw new ListError(`has ${size} bytes, at most ${MAX_FILE_BYTES}`)
    const text = readFileSync(file, 'utf8')
    let failure: unknown
    // An operator may have written down in lines what is published as JSON.
    for (const format of [...formats, detectFormat(text)]) {
      try {
        return { file, prefixes: parseList(text, format), at: Math.round(mtimeMs), prose: isHelpPage(format) }
      } catch (error) {
        failure ??= error
      }
    }
    throw failure
  } catch (error) {
    const why = error instanceof ListError ? error.message : `cannot be read (${errorCode(error)})`
    throw new Error(`ranges: ${file} ${why}`, { cause: error })
  }
}

const errorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error)
