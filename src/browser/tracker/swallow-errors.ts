/** Wraps `act` so that it never throws: an error of the tracker must not reach the page. */
export const swallowErrors =
  <A extends unknown[]>(act: (...args: A) => void) =>
  (...args: A): void => {
    try {
      act(...args)
    } catch {}
  }

/** Listens at the window while the event is captured, before the page's own handlers can stop it. */
export const listen = <K extends keyof WindowEventMap>(type: K, act: (event: WindowEventMap[K]) => void): void =>
  addEventListener(type, swallowErrors(act), true)
