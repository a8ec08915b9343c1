/** Of the package, in every hit (spec 2.4 `v`). A test compares it with package.json, which browsers cannot read. */
export const VERSION = '0.1.0'
