/** `act` without its failures: whatever goes wrong in here, the page does not hear of it. */
export const quietly =
  <A extends unknown[]>(act: (...args: A) => void) =>
  (...args: A): void => {
    try {
      act(...args)
    } catch {}
  }

/** Everything is heard at the window on its way down: what stops there is not stopped by the page's own handlers. */
export const on = <K extends keyof WindowEventMap>(type: K, act: (event: WindowEventMap[K]) => void): void =>
  addEventListener(type, quietly(act), true)
