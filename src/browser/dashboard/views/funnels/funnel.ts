import type { DataOf } from '../../client/index.js'

export type FunnelRecord = DataOf<'/api/funnels'>[number]
