import type { ClickHouseSettings } from '@clickhouse/client'

/** Limits of a query: milliseconds of its run, and bytes of memory on the server. */
export interface QueryLimits {
  timeout_ms: number
  memory_bytes: number
}

/**
 * Settings of every request to a cluster. A write counts when most replicas have it, and a read sees every write before it
 * on whichever replica it runs, or is refused (`onceReplicated` asks again): the order of a change's statements is what makes
 * reads right, and the next change depends on the rows of the last one.
 */
export const REPLICATED_SETTINGS: ClickHouseSettings = {
  insert_quorum: 'auto',
  // Quorums of inserts that run side by side would allow no such read.
  insert_quorum_parallel: 0,
  select_sequential_consistency: '1',
  alter_sync: '2',
}

/** How values are written in a result, so that none loses digits. */
const OUTPUT: ClickHouseSettings = {
  output_format_json_quote_64bit_integers: 1,
  date_time_output_format: 'iso',
}

/** Settings under which the SQL of reads means what it means on DuckDB; the README says which read needs which. */
const SEMANTICS: ClickHouseSettings = {
  join_use_nulls: 1,
  aggregate_functions_null_for_empty: 1,
  prefer_column_name_to_alias: 1,
  cast_keep_nullable: 1,
  precise_float_parsing: 1,
  // A row that was inserted twice counts once. Its month is part of its key, so partitions need no comparison.
  final: 1,
  do_not_merge_across_partitions_select_final: 1,
}

/** The settings of a statement that only reads. Large sorts and groups go to the server's disk before they fail. */
export const readSettings = ({ timeout_ms, memory_bytes }: QueryLimits): ClickHouseSettings => ({
  ...OUTPUT,
  ...SEMANTICS,
  // Refuses every statement that writes; the settings of this request are still accepted.
  readonly: '2',
  cancel_http_readonly_queries_on_client_close: 1,
  max_execution_time: Math.ceil(timeout_ms / 1_000),
  max_memory_usage: String(memory_bytes),
  max_bytes_before_external_group_by: String(Math.floor(memory_bytes / 2)),
  max_bytes_before_external_sort: String(Math.floor(memory_bytes / 2)),
})

/** The settings of an insert, which is stored when it is acknowledged. Equal keys make a repetition harmless. */
export const INSERT_SETTINGS: ClickHouseSettings = {
  async_insert: 0,
  insert_deduplicate: 0,
  date_time_input_format: 'best_effort',
  // Rows of any number of months, as an import has them.
  max_partitions_per_insert_block: '0',
}

/** The settings of a statement that writes: it reads as a read does, and has ended on all replicas when it responds. */
export const WRITE_SETTINGS: ClickHouseSettings = {
  ...SEMANTICS,
  ...INSERT_SETTINGS,
  // The condition of a mutation has a select, whose result does not change while the mutation runs.
  allow_nondeterministic_mutations: 1,
  mutations_sync: '2',
  wait_end_of_query: 1,
}

/** Settings of a statement that means all versions of rows, not only those that count. */
export const EVERY_VERSION: ClickHouseSettings = { final: 0 }
