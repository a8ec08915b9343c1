import type { DataOf } from '../client/index.js'
import { type Params, type Result, useRead } from './data.js'

/** One version of robots.txt or llms.txt, with the agents that read it. */
export type Version = DataOf<'/api/policy/versions'>[number]
export type Versions = Result<'/api/policy/versions'>

/** Asks for the newest versions of both files of a hostname. */
export const useVersions = (query: Params | undefined): Versions =>
  useRead('/api/policy/versions', query === undefined ? undefined : { limit: 30, ...query })
