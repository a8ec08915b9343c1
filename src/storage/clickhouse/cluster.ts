import { setTimeout as delay } from 'node:timers/promises'
import { ClickHouseOpenError } from './client.js'
import { isReplicaBehind } from './query-errors.js'

/*
 * Tables on all replicas of a cluster of one shard (`cluster=` of the address). A replica's path in Keeper has the names of
 * database and table, so a server that is added later finds its tables there when a program first opens the store on it.
 */
const PATH = '/clickhouse/tables/{shard}/{database}'

/** A replica tidies its disk up on a schedule of its own, every half a minute, which an erasure would wait for. */
const TIDY = 'cleanup_delay_period = 1, max_cleanup_delay_period = 1'

/** The statement that creates or drops a table as one that does so on every replica. `statement` is one of `schema.ts`. */
export const replicate = (statement: string, cluster: string): string =>
  statement
    .replace(/(create table if not exists|drop table if exists) \w+/, `$& ${onCluster(cluster)}`)
    .replace(/engine = (\w*MergeTree)(?:\(([^)]*)\))?/, (_, engine: string, version?: string) => {
      const [path, ...rest] = [`'${PATH}/{table}'`, "'{replica}'", ...(version === undefined ? [] : [version])]
      return `engine = Replicated${engine}(${[path, ...rest].join(', ')})`
    })
    .replace('old_parts_lifetime = 1', `$&, ${TIDY}`)

/**
 * The engine of a table that only one program can create: on one server because of its name, in a cluster because its
 * replica has the same name on every server.
 */
export const lockEngine = (cluster: string | undefined): string =>
  cluster === undefined ? 'MergeTree' : `ReplicatedMergeTree('${PATH}/schema_lock', 'lock')`

/** The part of a statement that has it run on every server: Keeper replicates rows, not tables. */
export const onCluster = (cluster: string | undefined): string =>
  cluster === undefined ? '' : `on cluster \`${cluster}\``

/** A table of the database `system`, with the rows of all replicas. */
export const systemTableOfReplicas = (table: `system.${string}`, cluster: string | undefined): string =>
  cluster === undefined ? table : `clusterAllReplicas('${cluster}', ${table})`

/** The statement that lists the shards of a cluster, for `requireOneShard`. */
export const listShards = (cluster: string): string =>
  `select distinct shard_num from system.clusters where cluster = '${cluster}'`

/** Throws `ClickHouseOpenError` for a cluster that does not exist, or keeps its rows in several places. */
export function requireOneShard(cluster: string, shards: number): void {
  if (shards === 1) return
  const why = shards === 0 ? 'is not in system.clusters of the server' : `has ${shards} shards, and one is needed`
  throw new ClickHouseOpenError(
    `--store …?cluster=${cluster}: this cluster ${why}. README of src/storage/clickhouse: Replicas.`,
  )
}

const REPLICA_ATTEMPTS = 20
const REPLICA_DELAY_MS = 100

/** Repeats `work`, a request that may be repeated, while replicas need a moment more, as after each insert. */
export async function onceReplicated<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === REPLICA_ATTEMPTS || !isReplicaBehind(error)) throw error
      await delay(REPLICA_DELAY_MS)
    }
  }
}
