/** The package's version, the key `v` of every hit. A test compares it with package.json, which browsers cannot read. */
export const VERSION = '1.0.0'
