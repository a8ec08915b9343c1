import { type Audience, go, place } from './address.js'

type Metrics = Readonly<Record<Audience, string>>

/** The metrics that a view's chart draws, one per readership: `metric=visitors,fetches` in the address. */
export function pickedMetrics(defaults: Metrics): Metrics {
  const [human = '', agent = ''] = (place.value.own.metric ?? '').split(',')
  return { human: human || defaults.human, agent: agent || defaults.agent }
}

/** Draws another metric of one readership. */
export function pickMetric(picked: Metrics, of: Audience, metric: string): void {
  const next = { ...picked, [of]: metric }
  go({ own: { ...place.value.own, metric: `${next.human},${next.agent}` } }, true)
}
