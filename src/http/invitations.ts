import { z } from 'zod'
import { ApiError } from '../errors.js'
import { AcceptInvitation, Invitation, type Invitations, NewInvitation } from '../manage/invitations.js'
import { OrgOfMember, type Orgs } from '../manage/orgs.js'
import type { MailMessage, SendMail } from '../notify/mail-message.js'
import { auditContext } from './auth.js'
import { orgOfPath, requireUser } from './org-access.js'
import { Id, jsonResponse, parseBody, type Route, TotalMeta } from './route.js'

/** Invitations into an organisation, and their acceptance: for people alone (spec 5.3 rule 4). */
export function invitationRoutes(deps: {
  orgs: Pick<Orgs, 'get'>
  invitations: Invitations
  /** The address under which somebody accepts, for one who asks by `request`. */
  link(request: Request, token: string): string
  /** Not waited for: the answer has the link in any case. */
  send: SendMail
  log(error: unknown): void
}): Route[] {
  const { orgs, invitations, link, send, log } = deps
  const route = { tag: 'invitations' } as const
  return [
    {
      ...{ ...route, method: 'get', path: '/api/orgs/{id}/invitations', access: 'admin' },
      summary: 'Invitations that nobody accepted yet',
      data: z.array(Invitation),
      meta: TotalMeta,
      run: async (call) => {
        const { id } = await orgOfPath(call, orgs)
        const all = await invitations.list(id)
        return jsonResponse(all, { total: all.length })
      },
    },
    {
      ...{ ...route, method: 'post', path: '/api/orgs/{id}/invitations', access: 'admin' },
      summary: 'Invite somebody by mail, in place of what they were invited by before',
      body: NewInvitation,
      data: Invitation.extend({
        link: z
          .string()
          .describe('To be handed on by other ways, this once. Only that in the mail shows the address to be theirs.'),
      }),
      status: 201,
      mayConflict: true,
      run: async (call) => {
        const org = await orgOfPath(call, orgs)
        const { principal } = call
        const actor = principal.kind === 'person' ? principal.user.id : undefined
        const asked = await parseBody(call, NewInvitation)
        const { invitation, token, mailed } = await invitations.create(org.id, asked, actor, auditContext(call, org.id))
        void send(invitationMail(invitation, org.name, link(call.request, mailed))).catch(log)
        return jsonResponse({ ...invitation, link: link(call.request, token) }, undefined, 201)
      },
    },
    {
      ...{ ...route, method: 'delete', path: '/api/orgs/{id}/invitations/{invitation}', access: 'admin' },
      summary: 'Take an invitation back',
      status: 204,
      run: async (call) => {
        const org = await orgOfPath(call, orgs)
        const id = Id.safeParse(call.params.invitation)
        if (!id.success) throw new ApiError('not_found', 'There is no such invitation.')
        await invitations.delete(org.id, id.data, auditContext(call, org.id))
        return new Response(null, { status: 204 })
      },
    },
    {
      ...{ ...route, method: 'post', path: '/api/invitations/accept', access: 'person' },
      summary: 'Become a member, by the link that went to the own e-mail address',
      body: AcceptInvitation,
      data: OrgOfMember,
      mayConflict: true,
      run: async (call) => {
        const { token } = await parseBody(call, AcceptInvitation)
        const user = requireUser(call)
        const { org, role } = await invitations.accept(token, user, auditContext(call, 0).by, call.at)
        return jsonResponse({ ...(await orgs.get(org)), role })
      },
    },
  ]
}

const invitationMail = (
  { id, email, role, invited_by, expires_at }: Invitation,
  org: string,
  link: string,
): MailMessage => ({
  to: email,
  key: `invitation ${id}`,
  subject: `Invitation to ${org}`,
  text: `${invited_by} invites you to the organisation "${org}", as ${role}.

Accept with an account of this address, until ${expires_at.slice(0, 16).replace('T', ' ')} UTC:
${link}

Whoever does not know what this is about can leave it alone: nothing happens then.
`,
})
