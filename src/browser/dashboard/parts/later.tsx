import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** How far below the screen panels are near, pixels. */
const NEAR = 400

/**
 * Draws its panels, and so asks their questions, when they come near the screen; at once if they are near from the start, so
 * that their questions go with the view's.
 */
export function Later({ children }: { children: ComponentChildren }) {
  const mark = useRef<HTMLDivElement>(null)
  const [isNear, setNear] = useState(false)
  useLayoutEffect(() => {
    if (!mark.current || isNear) return
    if (mark.current.getBoundingClientRect().top < innerHeight + NEAR) {
      setNear(true)
      return
    }
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && setNear(true), {
      rootMargin: `${NEAR}px`,
    })
    observer.observe(mark.current)
    return () => observer.disconnect()
  }, [isNear])
  return isNear ? children : <div class="cell later" ref={mark} />
}
