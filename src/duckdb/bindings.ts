/**
 * The parts of DuckDB's package that we use. By `require` and not `import`: to find the names in the package, the module system
 * reads its files twice, which is half of the 250 ms of CPU that loading it takes at each start.
 */
import bindings = require('@duckdb/node-api')

export const {
  arrayFromListValue,
  DuckDBInstance,
  DuckDBTimestampValue,
  DuckDBTypeId,
  JSDuckDBValueConverter,
  objectFromStructValue,
  StatementType,
} = bindings
