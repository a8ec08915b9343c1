import type { DataOf } from '../../client/index.js'

export type Funnel = DataOf<'/api/funnels'>[number]
