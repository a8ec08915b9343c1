const FLAG = 'readership-opt-out'
/** The choice for this document only, where storage is refused or full. */
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
  if (wanted) localStorage[FLAG] = '1'
  else delete localStorage[FLAG]
  out = false
}

/** Tells whether the visitor opted out; read for each hit, because another tab may have changed it. */
export const optedOut = (): boolean => {
  try {
    return out || localStorage[FLAG] === '1'
  } catch {
    return false
  }
}
