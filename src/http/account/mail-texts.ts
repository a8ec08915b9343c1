import type { AccountMail } from './mailer.js'

/** What is in none of these: a name that somebody gave. Whoever registers with another's address would write to them. */
const IGNORE_NOTE = 'If you did not ask for this, ignore it: nothing happens without the link.'
const joinParagraphs = (...paragraphs: string[]): string => `${[...paragraphs, 'readership'].join('\n\n')}\n`

/** Mails about accounts. `link` is where the reader goes, `service` where the service is. */
export const accountMails = {
  register: (to: string, link: string): AccountMail => ({
    to,
    link,
    subject: 'Confirm your address',
    text: joinParagraphs('To finish registering, open this link within 24 hours:', link, IGNORE_NOTE),
  }),
  registered: (to: string, signIn: string): AccountMail => ({
    to,
    subject: 'You have an account already',
    text: joinParagraphs(
      'Somebody, probably you, tried to register with this address. It has an account already: sign in, or choose another password, at',
      signIn,
    ),
  }),
  reset: (to: string, link: string): AccountMail => ({
    to,
    link,
    subject: 'Choose another password',
    text: joinParagraphs('To choose another password, open this link within an hour:', link, IGNORE_NOTE),
  }),
  newEmail: (to: string, link: string): AccountMail => ({
    to,
    link,
    subject: 'Confirm your new address',
    text: joinParagraphs(
      'To sign in with this address from now on, open this link within 24 hours:',
      link,
      IGNORE_NOTE,
    ),
  }),
  emailTaken: (to: string): AccountMail => ({
    to,
    subject: 'This address has an account already',
    text: joinParagraphs(
      'Somebody, probably you, wanted to sign in to another account with this address. It has an account of its own, and one address has one account.',
    ),
  }),
  emailChanged: (to: string, email: string): AccountMail => ({
    to,
    subject: 'Your address was changed',
    text: joinParagraphs(
      `Your account is now reached as ${email}. If that was not you, ask the operator of this service for help at once.`,
    ),
  }),
  passwordChanged: (to: string): AccountMail => ({
    to,
    subject: 'Your password was changed',
    text: joinParagraphs(
      'Your password was changed, and all other sessions are over. If that was not you, choose another one at once, and see who else reads your mail.',
    ),
  }),
}
