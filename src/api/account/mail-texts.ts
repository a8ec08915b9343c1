import type { AccountMail } from './mailer.js'

const IGNORE_NOTE = 'If you did not request this, ignore this mail: nothing happens unless the link is used.'
const paragraphs = (...texts: string[]): string => `${[...texts, 'readership'].join('\n\n')}\n`

/**
 * Mails about accounts. None of them contains a name that a client entered: otherwise anybody could write to a person by
 * registering with that person's address.
 */
export const accountMails = {
  register: (to: string, link: string): AccountMail => ({
    to,
    link,
    subject: 'Confirm your e-mail address',
    text: paragraphs('To complete your registration, open this link within 24 hours:', link, IGNORE_NOTE),
  }),
  registered: (to: string, signIn: string): AccountMail => ({
    to,
    subject: 'You already have an account',
    text: paragraphs(
      'Someone, probably you, tried to register with this address, which already has an account. Sign in or reset your password at',
      signIn,
    ),
  }),
  reset: (to: string, link: string): AccountMail => ({
    to,
    link,
    subject: 'Reset your password',
    text: paragraphs('To choose a new password, open this link within an hour:', link, IGNORE_NOTE),
  }),
  newEmail: (to: string, link: string): AccountMail => ({
    to,
    link,
    subject: 'Confirm your new e-mail address',
    text: paragraphs('To sign in with this address in future, open this link within 24 hours:', link, IGNORE_NOTE),
  }),
  emailTaken: (to: string): AccountMail => ({
    to,
    subject: 'This address already has an account',
    text: paragraphs(
      'Someone, probably you, tried to use this address for another account. It already has its own account, and an address can have only one.',
    ),
  }),
  emailChanged: (to: string, email: string): AccountMail => ({
    to,
    subject: 'Your e-mail address was changed',
    text: paragraphs(
      `Your account now uses the address ${email}. If you did not change it, contact the operator of this service at once.`,
    ),
  }),
  passwordChanged: (to: string): AccountMail => ({
    to,
    subject: 'Your password was changed',
    text: paragraphs(
      'Your password was changed, and all your other sessions were signed out. If you did not change it, reset your password at once, and check who else can read your mail.',
    ),
  }),
}
