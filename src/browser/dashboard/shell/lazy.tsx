import { type FunctionComponent, h } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Failed, Skeleton } from '../parts/states.js'

/** The script that names the chunks; an upgrade removes it together with them. */
const BUILD = import.meta.url
const RELOADED = 'readership.reloaded'

/** Reloads the page if an upgrade has replaced its build. Returns false if it has not, or if a reload did not help. */
async function reloadAfterUpgrade(): Promise<boolean> {
  try {
    const { status } = await fetch(BUILD, { method: 'HEAD', cache: 'no-store' })
    // A page from a cache of its own would come back with the same build, and reload for ever.
    if (status !== 404 || sessionStorage.getItem(RELOADED) === BUILD) return false
    sessionStorage.setItem(RELOADED, BUILD)
  } catch {
    return false
  }
  location.reload()
  return true
}

/** A component that is loaded when it is first drawn, or before, by `load`. */
export function lazy<Props extends object = object>(
  fetchModule: () => Promise<{ default: FunctionComponent<Props> }>,
): { component: FunctionComponent<Props>; load(): Promise<unknown> } {
  let loaded: FunctionComponent<Props> | undefined
  const load = async () => {
    const module = await fetchModule()
    loaded = module.default
    return { it: loaded }
  }
  const component = function Lazy(props: Props) {
    const [component, setComponent] = useState<{ it: FunctionComponent<Props> } | undefined>(loaded && { it: loaded })
    const [failed, setFailed] = useState<Date>()
    const start = () => {
      setFailed(undefined)
      load().then(setComponent, async () => {
        if (!(await reloadAfterUpgrade())) setFailed(new Date())
      })
    }
    useEffect(() => {
      if (!component) start()
    }, [])
    if (failed) return <Failed problem={{ status: 0, code: 'unreachable', message: '', at: failed }} retry={start} />
    return component ? h(component.it, props) : <Skeleton rows={8} />
  }
  return { component, load }
}
