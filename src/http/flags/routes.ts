import type { Collection, WithId } from '../../manage/collection.js'
import { Flag, FlagChange, finishedFlag, NewFlag } from '../../manage/flags.js'
import type { Sites } from '../../manage/sites.js'
import { check } from '../error.js'
import { merged, routesOf } from '../managed.js'
import type { Route } from '../route.js'

/** `/api/flags` (contract 7): their key stands where other records have a name. */
export const flagRoutes = ({ sites, flags }: { sites: Pick<Sites, 'get'>; flags: Collection<Flag> }): Route[] =>
  routesOf(sites, {
    ...{ name: 'flags', one: 'flag', shape: Flag, made: NewFlag, changed: FlagChange, all: flags },
    finish: async (given) => finishedFlag(given),
    shown,
    become: async ({ id: _, version: __, name: key, ...flag }, change) =>
      finishedFlag(check(NewFlag, merged({ ...flag, key }, change))),
  })

const shown = ({ id, version, site, name, ...flag }: WithId<Flag>) => ({ id, version, site, key: name, ...flag })
