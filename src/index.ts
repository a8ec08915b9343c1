export { ApiError } from './errors.js'
export type { Readership } from './readership.js'
export { OBSERVED_HEADERS, type Observation } from './record/observation.js'
