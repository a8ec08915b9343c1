import { COMBINED, COMMON, VHOST_COMBINED } from './combined.js'
import type { LogFormat } from './log-format.js'

/** Every format that is detected; of those that fit the same number of lines the first wins. */
export const LOG_FORMATS: readonly LogFormat[] = [COMMON, COMBINED, VHOST_COMBINED]
