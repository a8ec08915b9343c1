/**
 * Creates a queue that lets one caller go on in each turn of the event loop. Many requests that arrive at once would
 * otherwise be worked on in a row, and the site's requests would wait until the last of them.
 */
export function createEventLoopQueue(): () => Promise<void> {
  const waiting: (() => void)[] = []
  const goOn = () => {
    waiting.shift()?.()
    if (waiting.length > 0) setImmediate(goOn)
  }
  return () =>
    new Promise((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(goOn)
    })
}
