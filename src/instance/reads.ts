import { z } from 'zod'
import { loadCatalog } from '../agents/catalog.js'
import { listing } from '../agents/listing.js'
import { Holding } from '../agents/ranges/holding.js'
import type { Pdf } from '../export/pdf.js'
import { askBlocked } from '../http/blocked.js'
import { drawFor, exportRoutes } from '../http/export.js'
import { depsOf, readRoutes } from '../http/reads.js'
import type { Core } from './core.js'

export type Reads = ReturnType<typeof createReads>

/** The reads of the API and their files, and the same reads as the instance itself asks them. */
export function createReads({ engine, manage, log, now }: Core, pdf: Pdf) {
  const read = {
    store: engine.events,
    now,
    catalog: listing(loadCatalog()),
    sites: manage.sites,
    ...manage.managed,
    blocked: askBlocked(engine),
    policy: (site: number, question: object) => engine.ask('policy', { site, ...question }),
    holdings: async () => z.array(Holding).parse(await engine.ask('holdings')),
  }
  /** The reads with the rights of the operator, who may ask about every site. */
  const asOperator = (signal: AbortSignal) =>
    depsOf(read, {
      principal: { kind: 'operator' },
      access: 'stats:read',
      request: new Request('http://localhost/', { signal }),
    })
  return {
    asOperator,
    /** Draws a report as PDF, for mails. */
    draw: drawFor({ ...read, pdf }, asOperator),
    routes: [
      ...readRoutes(read),
      ...exportRoutes({ ...read, pdf, log: (error) => log.error({ err: error }, 'an export was cut off') }),
    ],
  }
}
