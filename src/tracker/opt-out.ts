const FLAG = 'readership-opt-out'
/** For this document, where storage is refused or full. */
let out = false

/** A server sees no storage: without the cookie it would go on recording what it serves. About a year, from each visit on. */
export const tellServer = (wanted: boolean): void => {
  // biome-ignore lint/suspicious/noDocumentCookie: what is better is not in every browser, and comes late.
  document.cookie = `${FLAG}=1;path=/;max-age=${wanted ? 3e7 : 0}`
}

/** Nothing is sent from this browser and origin any more, or with `false` again. The only thing the tracker stores. */
export const optOut = (wanted = true): void => {
  out = wanted
  tellServer(wanted)
  if (wanted) localStorage[FLAG] = '1'
  else delete localStorage[FLAG]
  out = false
}

/** Asked at each hit: the answer may have been given in another tab. */
export const optedOut = (): boolean => {
  try {
    return out || localStorage[FLAG] === '1'
  } catch {
    return false
  }
}
