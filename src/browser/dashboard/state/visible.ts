/**
 * Runs something again and again while the page is visible, and once when it becomes visible again. No timer runs while
 * the page is hidden. Returns the function that stops it.
 */
export function whileVisible(every: number, run: () => void): () => void {
  let timer: ReturnType<typeof setInterval> | undefined
  const follow = () => {
    clearInterval(timer)
    timer = document.hidden ? undefined : setInterval(run, every)
  }
  const onChange = () => {
    follow()
    if (!document.hidden) run()
  }
  follow()
  document.addEventListener('visibilitychange', onChange)
  return () => {
    clearInterval(timer)
    document.removeEventListener('visibilitychange', onChange)
  }
}
