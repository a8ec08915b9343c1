import type { Letter } from './post.js'

/** What is in none of these: a name that somebody gave. Whoever registers with another's address would write to them. */
const IGNORE = 'If you did not ask for this, ignore it: nothing happens without the link.'
const signed = (...paragraphs: string[]): string => `${[...paragraphs, 'readership'].join('\n\n')}\n`

/** Mails about accounts. `link` is where the reader goes, `service` where the service is. */
export const letters = {
  register: (to: string, link: string): Letter => ({
    to,
    link,
    subject: 'Confirm your address',
    text: signed('To finish registering, open this link within 24 hours:', link, IGNORE),
  }),
  registered: (to: string, signIn: string): Letter => ({
    to,
    subject: 'You have an account already',
    text: signed(
      'Somebody, probably you, tried to register with this address. It has an account already: sign in, or choose another password, at',
      signIn,
    ),
  }),
  reset: (to: string, link: string): Letter => ({
    to,
    link,
    subject: 'Choose another password',
    text: signed('To choose another password, open this link within an hour:', link, IGNORE),
  }),
  newEmail: (to: string, link: string): Letter => ({
    to,
    link,
    subject: 'Confirm your new address',
    text: signed('To sign in with this address from now on, open this link within 24 hours:', link, IGNORE),
  }),
  emailTaken: (to: string): Letter => ({
    to,
    subject: 'This address has an account already',
    text: signed(
      'Somebody, probably you, wanted to sign in to another account with this address. It has an account of its own, and one address has one account.',
    ),
  }),
  emailChanged: (to: string, email: string): Letter => ({
    to,
    subject: 'Your address was changed',
    text: signed(
      `Your account is now reached as ${email}. If that was not you, ask the operator of this service for help at once.`,
    ),
  }),
  passwordChanged: (to: string): Letter => ({
    to,
    subject: 'Your password was changed',
    text: signed(
      'Your password was changed, and all other sessions are over. If that was not you, choose another one at once, and see who else reads your mail.',
    ),
  }),
}
