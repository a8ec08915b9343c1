import { z } from 'zod'
import { AcceptInvitation, Invitation, type Invitations, NewInvitation } from '../manage/invitations.js'
import type { MailMessage, SendMail } from '../manage/notify/mail-message.js'
import { OrgOfMember, type Orgs } from '../manage/orgs.js'
import { auditContext } from './auth.js'
import { inOrgOfPath, personId, requirePerson } from './org-access.js'
import { parseBody, pathId, type Route, routeMaker, TotalMeta } from './route.js'

/** Invitations into an organisation, and their acceptance; for people only. */
export function invitationRoutes(deps: {
  orgs: Pick<Orgs, 'get'>
  invitations: Invitations
  /** Builds the link that accepts an invitation; `request` is the call that creates it. */
  link(request: Request, token: string): string
  /** The response does not wait for the mail, because it contains a link in any case. */
  send: SendMail
  log(error: unknown): void
}): Route[] {
  const { orgs, invitations, link, send, log } = deps
  const route = routeMaker('invitations')
  const inOrg = inOrgOfPath(orgs)
  return [
    route('get', '/api/orgs/{id}/invitations', 'admin', {
      summary: 'List open invitations',
      data: z.array(Invitation),
      meta: TotalMeta,
      run: inOrg((_, { id }) => invitations.list(id)),
    }),
    route('post', '/api/orgs/{id}/invitations', 'admin', {
      summary: 'Invite a person by mail; replaces an open invitation of the same address',
      body: NewInvitation,
      data: Invitation.extend({
        link: z
          .string()
          .describe(
            'A link to pass on by other ways, shown only here. Only the mailed link proves that the address is theirs.',
          ),
      }),
      status: 201,
      mayConflict: true,
      run: inOrg(async (call, { id, name }) => {
        const body = await parseBody(call, NewInvitation)
        const created = await invitations.create(id, body, personId(call), auditContext(call, id))
        const { invitation, token, mailed } = created
        void send(invitationMail(invitation, name, link(call.request, mailed))).catch(log)
        return { ...invitation, link: link(call.request, token) }
      }),
    }),
    route('delete', '/api/orgs/{id}/invitations/{invitation}', 'admin', {
      summary: 'Revoke an invitation',
      status: 204,
      run: inOrg((call, { id }) => {
        const invitation = pathId(call, 'invitation', 'There is no such invitation.')
        return invitations.delete(id, invitation, auditContext(call, id))
      }),
    }),
    route('post', '/api/invitations/accept', 'person', {
      summary: "Accept an invitation to the caller's e-mail address",
      body: AcceptInvitation,
      data: OrgOfMember,
      mayConflict: true,
      run: async (call) => {
        const { token } = await parseBody(call, AcceptInvitation)
        const { user } = requirePerson(call)
        const { org, role } = await invitations.accept(token, user, auditContext(call, 0).by, call.at)
        return { ...(await orgs.get(org)), role }
      },
    }),
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
  text: `${invited_by} invites you to join the organisation "${org}" as ${role}.

Accept with an account for this address until ${expires_at.slice(0, 16).replace('T', ' ')} UTC:
${link}

If you did not expect this mail, ignore it: nothing happens until the link is used.
`,
})
