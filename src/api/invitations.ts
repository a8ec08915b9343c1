import { z } from 'zod'
import { AcceptInvitation, Invitation, type Invitations, NewInvitation } from '../manage/invitations.js'
import type { MailMessage, SendMail } from '../manage/notify/mail-message.js'
import { OrgOfMember, type Orgs } from '../manage/orgs.js'
import { type Language, languageOf } from './account/page-language.js'
import { pageTexts } from './account/page-texts.js'
import { auditContext } from './auth.js'
import { inOrgOfPath, personId, requirePerson } from './org-access.js'
import { parseBody, pathId, type Route, routeMaker, TotalMeta } from './route.js'

/** Invitations into an organisation, and their acceptance; for people only. */
export function invitationRoutes(deps: {
  orgs: Pick<Orgs, 'get'>
  invitations: Invitations
  /** Builds the link that accepts an invitation; `request` is the call that creates it. */
  link(request: Request, token: string): string
  /** Whether a mail server is set. */
  canSend: boolean
  /** The response does not wait for the mail, because it contains a link in any case. */
  send: SendMail
  log(error: unknown): void
}): Route[] {
  const { orgs, invitations, link, canSend, send, log } = deps
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
        mail_server: z
          .boolean()
          .describe('Whether a mail server is set; without one no mail goes out: pass the link on.'),
      }),
      status: 201,
      mayConflict: true,
      run: inOrg(async (call, { id, name }) => {
        const body = await parseBody(call, NewInvitation)
        const created = await invitations.create(id, body, personId(call), auditContext(call, id))
        const { invitation, token, mailed } = created
        const mail = invitationMail[languageOf(call.request)](invitation, name, link(call.request, mailed))
        void send({ ...mail, to: invitation.email, key: `invitation ${invitation.id}` }).catch(log)
        return { ...invitation, link: link(call.request, token), mail_server: canSend }
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

type InvitationMail = (invitation: Invitation, org: string, link: string) => Pick<MailMessage, 'subject' | 'text'>

const formatExpiry = ({ expires_at }: Invitation): string => `${expires_at.slice(0, 16).replace('T', ' ')} UTC`

/** The mail of an invitation, in the language of the browser of the person who invites. */
const invitationMail: Readonly<Record<Language, InvitationMail>> = {
  en: (invitation, org, link) => ({
    subject: `Invitation to ${org}`,
    text: `${invitation.invited_by} invites you to join the organisation "${org}" as ${invitation.role}.

Accept with an account for this address until ${formatExpiry(invitation)}:
${link}

If you did not expect this mail, ignore it: nothing happens until the link is used.
`,
  }),
  de: (invitation, org, link) => ({
    subject: `Einladung: ${org}`,
    text: `${invitation.invited_by} lädt Sie in die Organisation „${org}“ ein, als ${pageTexts.de.invitation.roles[invitation.role]}.

Nehmen Sie mit einem Konto dieser Adresse an, bis ${formatExpiry(invitation)}:
${link}

Wenn Sie diese E-Mail nicht erwartet haben, beachten Sie sie nicht: Ohne den Link geschieht nichts.
`,
  }),
}
