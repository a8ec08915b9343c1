/**
 * What is called of DuckDB's package. Not by `import`: to learn the names in it, the module system reads its files twice,
 * which is half of the 250 ms of CPU that it takes at each start.
 */
import engine = require('@duckdb/node-api')

export const {
  arrayFromListValue,
  DuckDBInstance,
  DuckDBTimestampValue,
  DuckDBTypeId,
  JSDuckDBValueConverter,
  objectFromStructValue,
} = engine
