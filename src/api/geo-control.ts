import { z } from 'zod'
import type { WorkerClient } from '../worker-client/worker-client.js'
import { type Route, routeMaker } from './route.js'

/** The files of places in use, each with the day of its facts. */
export const GeoSources = z.array(z.object({ name: z.string(), date: z.string() }))

/** `/control/geoip/*`, for the operator. The worker does the work. */
export const geoControlRoutes = (workerClient: Pick<WorkerClient, 'call'>): Route[] => [
  routeMaker('control')('post', '/control/geoip/reload', 'operator', {
    summary: 'Read the file of --geoip again',
    data: GeoSources,
    mayConflict: true,
    run: async () => GeoSources.parse(await workerClient.call('reload_geoip')),
  }),
]
