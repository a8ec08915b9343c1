import { swallowErrors } from './swallow-errors.js'

const FLAG = 'readership-opt-out'
/** Keeps the choice: an object of this document where storage is refused, and on a server, which has no document. */
let storage: Record<string, string> = {}
swallowErrors(() => {
  storage = (document && localStorage) || storage
})()
/** The choice for this document only, where storage is full. */
let out = false

/** Sets or removes the opt-out cookie for about a year: a server cannot see storage and would go on recording. */
export const setServerOptOut = (wanted: boolean): void => {
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is asynchronous and missing in some browsers.
  document.cookie = `${FLAG}=1;path=/;max-age=${wanted ? 3e7 : 0}`
}

/** Stops or resumes sending from this browser and origin. The flag is the only thing that the tracker stores. */
export const optOut = (wanted = true): void => {
  out = wanted
  setServerOptOut(wanted)
  if (wanted) storage[FLAG] = '1'
  else delete storage[FLAG]
  out = false
}

/** Tells whether the visitor opted out; read for each hit, because another tab may have changed it. */
export const optedOut = (): boolean => out || !!storage[FLAG]
