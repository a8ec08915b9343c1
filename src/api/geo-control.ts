import { z } from 'zod'
import type { Engine } from '../worker-client/engine.js'
import { type Route, routeMaker } from './route.js'

/** The files of places in use, each with the day of its facts. */
export const GeoSources = z.array(z.object({ name: z.string(), date: z.string() }))

/** `/control/geoip/*`, for the operator. The worker does the work. */
export const geoControlRoutes = (engine: Pick<Engine, 'call'>): Route[] => [
  routeMaker('control')('post', '/control/geoip/reload', 'operator', {
    summary: 'Read the file of --geoip again',
    data: GeoSources,
    mayConflict: true,
    run: async () => GeoSources.parse(await engine.call('reload_geoip')),
  }),
]
