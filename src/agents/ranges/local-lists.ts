import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Prefix } from '../../base/address.js'
import type { Catalog } from '../catalog.js'
import { detectFormat, isHelpPage, ListError, parseList } from './formats.js'
import { type ListSource, listsOfAgent, sourcesOfCatalog } from './sources.js'

/** A list from a file of `--ranges`. */
export interface LocalList {
  file: string
  prefixes: readonly Prefix[]
  /** When the file was last written; milliseconds since 1970. */
  at: number
  helpPage: boolean
}

const MAX_FILE_BYTES = 16_000_000

/**
 * Reads the files and directories of `--ranges`. A file is named by an agent's id (`gptbot.json`, `bingbot.txt`) and then
 * replaces all lists of that agent, or like the last part of a list's URL (`common-crawlers.json`) and then replaces that
 * list. The format is the list's own or is detected. Returns the lists by agent id and by URL, and the files of a directory
 * whose names fit neither. Throws an error of one line that names the file if a file cannot be read, holds no list, or is
 * named alone and fits neither.
 */
export function readLocalLists(paths: readonly string[], catalog: Catalog) {
  const byAgent = new Map<string, LocalList>()
  const byUrl = new Map<string, LocalList>()
  const ignored: string[] = []
  const sources = sourcesOfCatalog(catalog)
  for (const { file, alone } of paths.flatMap(filesOf)) {
    const owner = ownerOfFile(file, catalog, sources)
    if (typeof owner === 'string') {
      if (alone) throw new Error(`ranges: ${file} ${owner}`)
      ignored.push(file)
      continue
    }
    const map = owner.kind === 'agent' ? byAgent : byUrl
    const other = map.get(owner.key)
    if (other) throw new Error(`ranges: ${other.file} and ${file} both hold the addresses of ${owner.key}`)
    map.set(owner.key, readLocalList(file, owner.formats))
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

/** Returns the agent or list that a file belongs to, or a text that explains why neither fits. */
function ownerOfFile(
  file: string,
  catalog: Catalog,
  sources: readonly ListSource[],
): { kind: 'agent' | 'url'; key: string; formats: string[] } | string {
  const name = basename(file)
  const agent = catalog.get(name.replace(/\.[^.]*$/, '').toLowerCase())
  if (agent && !agent.client_side)
    return { kind: 'agent', key: agent.id, formats: listsOfAgent(agent).map(({ format }) => format) }
  const same = sources.filter(({ url }) => new URL(url).pathname.split('/').filter(Boolean).at(-1) === name)
  const [source, another] = same
  if (source && !another) return { kind: 'url', key: source.url, formats: [source.format] }
  return source
    ? `could be ${same.map(({ url }) => url).join(' or ')}: name it after an agent`
    : 'is named after no agent and no published list: use a name such as gptbot.json'
}

function readLocalList(file: string, formats: readonly string[]): LocalList {
  try {
    const stats = statSync(file)
    // Reading a pipe would never end.
    if (!stats.isFile()) throw new ListError('is not a regular file')
    if (stats.size > MAX_FILE_BYTES)
      throw new ListError(`has ${stats.size} bytes, at most ${MAX_FILE_BYTES} are allowed`)
    const text = readFileSync(file, 'utf8')
    let failure: unknown
    // The file may hold plain lines although the list is published as JSON.
    for (const format of [...formats, detectFormat(text)]) {
      try {
        return { file, prefixes: parseList(text, format), at: Math.round(stats.mtimeMs), helpPage: isHelpPage(format) }
      } catch (error) {
        failure ??= error
      }
    }
    throw failure
  } catch (error) {
    const reason = error instanceof ListError ? error.message : `cannot be read (${errorCode(error)})`
    throw new Error(`ranges: ${file} ${reason}`, { cause: error })
  }
}

const errorCode = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error)
