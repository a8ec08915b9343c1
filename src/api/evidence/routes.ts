import { z } from 'zod'
import { contentDisposition } from '../../analytics/export/filename.js'
import type { PdfRenderer } from '../../analytics/export/pdf.js'
import { ApiError } from '../../base/errors.js'
import type { EvidenceKeys } from '../../manage/evidence-keys.js'
import type { Sites } from '../../manage/sites.js'
import { auditContext } from '../auth.js'
import { requireSite } from '../org-access.js'
import { type RunRehearsal, windowFields } from '../rehearsal/run.js'
import { type Call, Id, jsonResponse, parseBody, parseQuery, type Route, routeMaker, SiteQuery } from '../route.js'
import { collectEvidence, type OwnRule } from './collect.js'
import { EvidenceDocument } from './document.js'
import { createEvidenceSheet } from './sheet.js'
import { EvidenceFault, publicKeyOf, readEvidence, signEvidence } from './signed-file.js'
import { withStatements } from './statements.js'

/** A folder of 1,000 fetches with long paths and user agents, and the texts of robots.txt. */
const MAX_FILE_BYTES = 8 << 20

const FILE_TYPES = { json: 'application/vnd.readership.evidence+json', pdf: 'application/pdf' } as const

const { progress: _, ...asked } = windowFields
const EvidenceBody = z.strictObject({
  ...{ ...asked, agent: z.string().min(1).max(200).describe('The agent, by its `agent_id`.') },
})
const EvidenceQuery = z.object({ ...EvidenceBody.shape, site: Id.describe('The site.') })
const PreviewMeta = z.object({
  fingerprint: z
    .string()
    .nullable()
    .describe('Fingerprint of the key that signs; null: it is made with the first folder.'),
})

interface EvidenceDeps {
  readonly run: RunRehearsal
  readonly sites: Pick<Sites, 'get'>
  readonly keys: EvidenceKeys
  readonly rulesOf: (site: number) => Promise<readonly OwnRule[]>
  readonly pdf: PdfRenderer
  readonly version: string
}

/** `/api/evidence`: the rules about an agent and its fetches, signed by this instance. */
export function evidenceRoutes({ run, sites, keys, rulesOf, pdf, version }: EvidenceDeps): Route[] {
  const route = routeMaker('evidence')
  const documentOf = async (
    { agent, ...window }: z.output<typeof EvidenceBody>,
    call: Call,
  ): Promise<EvidenceDocument> => {
    const { id, name, timezone } = await requireSite(call, sites, window.site, 'site')
    const of = { agent_id: agent, site: { id, name, timezone }, made_by: `readership ${version}` }
    const ownRules = await rulesOf(id)
    const { data, meta } = await run(window, call, (context, stream) =>
      collectEvidence(context, { ...of, ownRules, stream }),
    )
    const gaps = meta.recorded?.gaps ?? []
    return withStatements({ ...data, not_recorded: gaps.map(({ start, end, reason }) => ({ start, end, reason })) })
  }
  return [
    route('get', '/api/evidence', 'manage:read', {
      summary: 'Preview a folder of evidence about an agent: nothing is signed, and nothing is written',
      query: EvidenceQuery,
      data: EvidenceDocument,
      meta: PreviewMeta,
      async run(call) {
        const document = await documentOf(parseQuery(call, EvidenceQuery), call)
        const key = await keys.get()
        return jsonResponse(document, { fingerprint: key ? publicKeyOf(key).kid : null })
      },
    }),
    route('post', '/api/evidence', 'manage:write', {
      summary:
        'Make a folder of evidence about an agent: a JSON file, signed by this instance, and noted in the audit log',
      body: EvidenceBody,
      contentType: FILE_TYPES.json,
      async run(call) {
        const document = await documentOf(await parseBody(call, EvidenceBody), call)
        const key = await keys.getOrCreate(call.at)
        const { text, sha256 } = signEvidence(document, key)
        const { site, agent, window, counts } = document
        const { org } = await requireSite(call, sites, site.id)
        const details = { agent: agent.agent_id, ...window, fetches: counts.fetches, sha256, key: publicKeyOf(key).kid }
        await keys.audit(auditContext(call, org), site.id, details)
        return fileResponse(new TextEncoder().encode(text), document, 'json')
      },
    }),
    route('post', '/api/evidence/pdf', 'manage:write', {
      summary: 'Print a folder that this instance has signed. The body is the JSON file as it was made',
      query: SiteQuery,
      fileBody: { type: FILE_TYPES.json, example: '{\n"document": {' },
      maxBodyBytes: MAX_FILE_BYTES,
      contentType: FILE_TYPES.pdf,
      async run(call) {
        const { id, org } = await requireSite(call, sites, parseQuery(call, SiteQuery).site, 'site')
        const signed = await readOwnFile(new Uint8Array(await call.request.arrayBuffer()), keys)
        if (signed.document.site.id !== id)
          throw new ApiError('validation_error', 'The folder is about another site.', 'site')
        const bytes = await pdf.draw(createEvidenceSheet(signed), org, call.request.signal)
        return fileResponse(bytes, signed.document, 'pdf')
      },
    }),
    route('get', '/api/evidence/key', 'public', {
      summary: 'The public key of this instance that checks its folders, as JSON Web Key (RFC 8037)',
      contentType: 'application/jwk+json',
      async run() {
        const key = await keys.get()
        if (key === undefined)
          throw new ApiError('not_found', 'This instance has no key yet; the first folder that it signs creates one.')
        return Response.json(publicKeyOf(key), { headers: { 'content-type': 'application/jwk+json' } })
      },
    }),
  ]
}

/** Reads a folder that this instance has signed; throws `validation_error` with the reason for any other file. */
async function readOwnFile(file: Uint8Array, keys: EvidenceKeys) {
  const key = await keys.get()
  if (key === undefined) throw new ApiError('validation_error', 'This instance has signed no folder yet.', 'body')
  try {
    return readEvidence(file, publicKeyOf(key).kid)
  } catch (error) {
    if (error instanceof EvidenceFault) throw new ApiError('validation_error', error.message, 'body')
    throw error
  }
}

function fileResponse(
  bytes: Uint8Array<ArrayBuffer>,
  { site, agent, window }: EvidenceDocument,
  ending: 'json' | 'pdf',
): Response {
  const days = { start: new Date(window.start), end: new Date(window.end) }
  const name = { site, report: `evidence-${agent.agent_id}`, window: days, tz: site.timezone }
  return new Response(bytes, {
    headers: { 'content-type': FILE_TYPES[ending], 'content-disposition': contentDisposition(name, ending) },
  })
}
