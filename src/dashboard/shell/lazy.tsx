import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Failed, Skeleton } from '../parts/states.js'

/** A component that is loaded when it is first drawn. */
export function lazy(load: () => Promise<{ default: ComponentType }>): ComponentType {
  let loaded: ComponentType | undefined
  return function Lazy() {
    const [component, setComponent] = useState<{ it: ComponentType } | undefined>(loaded && { it: loaded })
    const [failed, setFailed] = useState<Date>()
    const start = () => {
      setFailed(undefined)
      load().then(
        (module) => {
          loaded = module.default
          setComponent({ it: module.default })
        },
        () => setFailed(new Date()),
      )
    }
    useEffect(() => {
      if (!component) start()
    }, [])
    if (failed) return <Failed problem={{ status: 0, code: 'unreachable', message: '', at: failed }} retry={start} />
    return component ? <component.it /> : <Skeleton rows={8} />
  }
}
