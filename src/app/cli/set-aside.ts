/** A file as src/storage/duckdb/repair.ts renames it. The log of such a file has an ending of its own. */
const SET_ASIDE = /^(?:events|control)\.duckdb\.\d{4}-\d{2}-\d{2}T[\d-]+Z$/

/** Returns whether a file of the data directory is one that was set aside, because it was damaged or of another instance. */
export const isSetAside = (name: string): boolean => SET_ASIDE.test(name)
