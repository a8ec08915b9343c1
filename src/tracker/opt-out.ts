const FLAG = 'readership-opt-out'
/** For this document too, as storage may be refused or full. */
let out = false

/** Nothing is sent from this browser and origin any more, or with `false` again. The only thing the tracker stores. */
export const optOut = (wanted = true): void => {
  out = wanted
  if (wanted) localStorage[FLAG] = '1'
  else delete localStorage[FLAG]
}

/** Asked at each hit: the answer may have been given in another tab. */
export const optedOut = (): boolean => {
  try {
    return out || localStorage[FLAG] === '1'
  } catch {
    return false
  }
}
