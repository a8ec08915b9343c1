import { z } from 'zod'
import { ApiError } from '../base/errors.js'
import type { Sites } from '../manage/sites.js'
import { OldSite, StoreLoss, type StoreLosses } from '../manage/store-losses.js'
import { auditContext } from './auth.js'
import { StoredSize } from './instance-status.js'
import { requireSite } from './org-access.js'
import { parseBody, type Route, routeMaker } from './route.js'

/** Losses that wait for the operator's decision, and the sites that have rows and do not exist. */
export const StoreStatus = z.object({ losses: z.array(StoreLoss), old_sites: z.array(OldSite) })
export const AssignResult = z.object({ rows: z.int() })
/** The sizes before and after a checkpoint. */
export const VacuumResult = z.object({ before: StoredSize, after: StoredSize })
export const AcceptResult = z.object({ accepted: z.int(), deleted: z.array(OldSite) })

const Assignment = z.strictObject({ from: z.int(), to: z.int() })
const Acceptance = z.strictObject({ delete_old_rows: z.boolean().default(false) })

/** `/control/store/*`: the operator's decisions after stored data was lost. */
export function storeControlRoutes(
  losses: StoreLosses,
  sites: Pick<Sites, 'get'>,
  vacuum: () => Promise<z.infer<typeof VacuumResult> | undefined>,
): Route[] {
  const route = routeMaker('control')
  return [
    route('get', '/control/store', 'operator', {
      summary: 'List losses of stored data that wait for a decision, and rows of sites that do not exist',
      data: StoreStatus,
      run: async () => ({ losses: losses.list(), old_sites: await losses.oldSites() }),
    }),
    route('post', '/control/store/assign', 'operator', {
      summary: 'Give the rows of a site that does not exist any more to another site',
      body: Assignment,
      data: AssignResult,
      async run(call) {
        const { from, to } = await parseBody(call, Assignment)
        const { org } = await requireSite(call, sites, to, 'to')
        return { rows: await losses.assign(from, to, auditContext(call, org)) }
      },
    }),
    route('post', '/control/store/vacuum', 'operator', {
      summary: 'Fold the log into the file of the store, so that new rows take the blocks of erased ones',
      data: VacuumResult,
      mayConflict: true,
      async run() {
        const result = await vacuum()
        if (!result)
          throw new ApiError('conflict', 'There is no store in a file here, or it cannot be measured at present.')
        return result
      },
    }),
    route('post', '/control/store/accept', 'operator', {
      summary: 'Accept the losses: registration opens again, and rows of sites that do not exist are deleted',
      body: Acceptance,
      data: AcceptResult,
      mayConflict: true,
      async run(call) {
        const { delete_old_rows } = await parseBody(call, Acceptance)
        return losses.accept(delete_old_rows, call.at)
      },
    }),
  ]
}
