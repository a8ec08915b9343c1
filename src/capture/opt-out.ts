import type { Observation } from './observation.js'
import type { Site } from './site.js'

/** What a visitor says of being recorded, in a request of any kind. */
interface PrivacySignals {
  headers?: Observation['headers']
  opted_out?: true
}

/** Whether a person is not to be recorded (contract 3): the opt-out is honoured always, the browser's wish where a site does. */
export const isOptedOut = (wish: PrivacySignals, site: Pick<Site, 'respect_gpc'>): boolean =>
  wish.opted_out === true || (site.respect_gpc && sendsPrivacySignal(wish))

/** The wish that some browsers send everywhere (Sec-GPC, DNT). */
const sendsPrivacySignal = ({ headers }: PrivacySignals): boolean =>
  headers?.['sec-gpc'] === '1' || headers?.dnt === '1'
