import type { Collection, WithId } from '../../manage/collection.js'
import { Flag, FlagChange, NewFlag, normaliseFlag } from '../../manage/flags.js'
import type { Sites } from '../../manage/sites.js'
import { validate } from '../error-response.js'
import type { Route } from '../route.js'
import { mergeChange, recordRoutes } from '../site-records.js'

/** `/api/flags` (contract 7): their key stands where other records have a name. */
export const flagRoutes = ({ sites, flags }: { sites: Pick<Sites, 'get'>; flags: Collection<Flag> }): Route[] =>
  recordRoutes(sites, {
    ...{ name: 'flags', one: 'flag', shape: Flag, made: NewFlag, changed: FlagChange, all: flags },
    finish: async (given) => normaliseFlag(given),
    shown: presentFlag,
    become: async ({ id: _, version: __, name: key, ...flag }, change) =>
      normaliseFlag(validate(NewFlag, mergeChange({ ...flag, key }, change))),
  })

const presentFlag = ({ id, version, site, name, ...flag }: WithId<Flag>) => ({ id, version, site, key: name, ...flag })
