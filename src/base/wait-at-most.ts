/** Returns the result of `work`, or undefined if it fails or is not there after `ms`. Never rejects. */
export async function waitAtMost<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined)
  })
  const result = await Promise.race([work, late]).catch(() => undefined)
  clearTimeout(timer)
  return result
}
