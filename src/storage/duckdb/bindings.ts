/**
 * The parts of DuckDB's packages that we use. By `require` and not `import`: to find the names in a package, the module system
 * reads its files twice, which is half of the 250 ms of CPU that loading it takes at each start.
 */
import bindings = require('@duckdb/node-api')
import native = require('@duckdb/node-bindings')

export const {
  arrayFromListValue,
  BIGINT,
  BOOLEAN,
  DOUBLE,
  DuckDBDataChunk,
  DuckDBInstance,
  DuckDBTimestampValue,
  DuckDBTypeId,
  INTEGER,
  JSDuckDBValueConverter,
  objectFromStructValue,
  StatementType,
  TIMESTAMP,
  UBIGINT,
  UINTEGER,
  VARCHAR,
} = bindings
export const {
  copy_data_to_vector,
  copy_data_to_vector_validity,
  data_chunk_get_vector,
  vector_assign_string_element,
  vector_ensure_validity_writable,
} = native
