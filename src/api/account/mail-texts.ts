import type { AccountMail } from './mailer.js'
import type { Language } from './page-language.js'

interface MailTexts {
  readonly subject: string
  readonly text: string
}

const en = {
  ignore: 'If you did not request this, ignore this mail: nothing happens unless the link is used.',
  register: {
    subject: 'Confirm your e-mail address',
    text: 'To complete your registration, open this link within 24 hours:',
  },
  registered: {
    subject: 'You already have an account',
    text: 'Someone, probably you, tried to register with this address, which already has an account. Sign in or reset your password at',
  },
  reset: { subject: 'Reset your password', text: 'To choose a new password, open this link within an hour:' },
  newEmail: {
    subject: 'Confirm your new e-mail address',
    text: 'To sign in with this address in future, open this link within 24 hours:',
  },
  emailTaken: {
    subject: 'This address already has an account',
    text: 'Someone, probably you, tried to use this address for another account. It already has its own account, and an address can have only one.',
  },
  emailChanged: {
    subject: 'Your e-mail address was changed',
    text: (email: string) =>
      `Your account now uses the address ${email}. If you did not change it, contact the operator of this service at once.`,
  },
  passwordChanged: {
    subject: 'Your password was changed',
    text: 'Your password was changed, and all your other sessions were signed out. If you did not change it, reset your password at once, and check who else can read your mail.',
  },
}

const de: typeof en = {
  ignore: 'Wenn Sie das nicht verlangt haben, beachten Sie diese E-Mail nicht: Ohne den Link geschieht nichts.',
  register: {
    subject: 'Bestätigen Sie Ihre E-Mail-Adresse',
    text: 'Um die Registrierung abzuschließen, öffnen Sie innerhalb von 24 Stunden diesen Link:',
  },
  registered: {
    subject: 'Sie haben schon ein Konto',
    text: 'Jemand, wahrscheinlich Sie, wollte sich mit dieser Adresse registrieren, die schon ein Konto hat. Melden Sie sich an, oder setzen Sie Ihr Passwort zurück:',
  },
  reset: {
    subject: 'Setzen Sie Ihr Passwort zurück',
    text: 'Um ein neues Passwort zu wählen, öffnen Sie innerhalb einer Stunde diesen Link:',
  },
  newEmail: {
    subject: 'Bestätigen Sie Ihre neue E-Mail-Adresse',
    text: 'Um sich künftig mit dieser Adresse anzumelden, öffnen Sie innerhalb von 24 Stunden diesen Link:',
  },
  emailTaken: {
    subject: 'Diese Adresse hat schon ein Konto',
    text: 'Jemand, wahrscheinlich Sie, wollte diese Adresse für ein anderes Konto verwenden. Sie hat schon ein eigenes, und eine Adresse kann nur eines haben.',
  },
  emailChanged: {
    subject: 'Ihre E-Mail-Adresse wurde geändert',
    text: (email) =>
      `Ihr Konto verwendet jetzt die Adresse ${email}. Wenn Sie das nicht waren, wenden Sie sich sofort an den Betreiber dieses Dienstes.`,
  },
  passwordChanged: {
    subject: 'Ihr Passwort wurde geändert',
    text: 'Ihr Passwort wurde geändert, und alle Ihre anderen Sitzungen wurden beendet. Wenn Sie das nicht waren, setzen Sie Ihr Passwort sofort zurück, und prüfen Sie, wer Ihre E-Mails noch lesen kann.',
  },
}

const TEXTS = { en, de }

/**
 * Mails about accounts, in the language of the browser that asked. None of them contains a name that a client entered:
 * otherwise anybody could write to a person by registering with that person's address.
 */
export function accountMails(language: Language) {
  const texts = TEXTS[language]
  const mail = (to: string, { subject, text }: MailTexts, ...more: string[]): AccountMail => ({
    ...{ to, subject },
    text: `${[text, ...more, 'readership'].join('\n\n')}\n`,
  })
  const withLink = (to: string, words: MailTexts, link: string): AccountMail => ({
    ...mail(to, words, link, texts.ignore),
    link,
  })
  return {
    register: (to: string, link: string) => withLink(to, texts.register, link),
    registered: (to: string, signIn: string) => mail(to, texts.registered, signIn),
    reset: (to: string, link: string) => withLink(to, texts.reset, link),
    newEmail: (to: string, link: string) => withLink(to, texts.newEmail, link),
    emailTaken: (to: string) => mail(to, texts.emailTaken),
    emailChanged: (to: string, email: string) =>
      mail(to, { subject: texts.emailChanged.subject, text: texts.emailChanged.text(email) }),
    passwordChanged: (to: string) => mail(to, texts.passwordChanged),
  }
}
