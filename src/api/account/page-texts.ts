import type { Language } from './page-language.js'

const en = {
  email: 'E-mail',
  name: 'Name',
  password: 'Password',
  newPassword: 'New password, at least 10 characters',
  code: 'Two-factor code, if your account uses one',
  signIn: {
    title: 'Sign in',
    action: 'Sign in',
    forgot: 'Forgot the password',
    byLink: 'The button signs you in on this device.',
    own: {
      title: 'Is this your own instance?',
      text: 'Then you need no password yet. When readership started, it printed a link in the terminal or the log. Open that link in this browser.',
      again: 'Link used or older than 15 minutes? Print a new one on the server:',
    },
    invited: {
      title: 'Were you invited?',
      text: 'Open the link in the invitation.',
    },
    newOrganisation: {
      link: 'Create an account',
      text: ' makes a new organisation without sites; it does not let you see anybody’s data.',
    },
  },
  register: {
    title: 'Create an account',
    warning:
      'This makes a new organisation without sites; it does not let you see anybody’s data. To see the sites of a colleague, ask them for an invitation.',
    organisation: 'Organisation',
    action: 'Create account',
    closed: 'Registration is closed: ask for an invitation.',
    hasAccount: 'You have an account already?',
  },
  reset: {
    title: 'Reset password',
    action: 'Send me a link',
    save: 'Save password',
    noMail:
      'This service has no mail server, so it cannot send you a link. Its operator finds the link that you request here in the log, or prints one on the server:',
    notSent: { title: 'No mail was sent', text: 'Ask the operator for the link, who prints it on the server:' },
  },
  confirm: { title: 'Confirm your e-mail address', action: 'Confirm' },
  inbox: {
    title: 'Check your inbox',
    registration: 'A link that completes the registration is on its way.',
    reset: 'If the address has an account, a link is on its way.',
  },
  invitation: {
    title: 'Invitation',
    to: (org: string, role: string, email: string) => `To the organisation “${org}”, as ${role}, for ${email}.`,
    roles: { owner: 'owner', admin: 'admin', member: 'member', viewer: 'viewer' },
    accept: 'Accept',
    otherPerson: (email: string) => `You are signed in as ${email}. Continue as the invited person.`,
    withAccount: 'With your account',
    signIn: 'Sign in and accept',
    withoutAccount: 'Without an account',
    join: 'Create account and accept',
    openMail: (email: string) => `Open the link in the mail to ${email}: it proves that the address is yours.`,
  },
  opening: {
    title: 'The store is being opened',
    text: 'After an upgrade its files may have to be migrated, which can take minutes. This page loads again by itself.',
  },
  /** Texts in place of the API's own, by code and field; the API's message stands where none is listed. */
  problems: {
    unauthorized: { totp: 'A valid code of your authenticator or a recovery code is needed; each works once.' },
    validation_error: {
      email: 'Write an e-mail address, such as name@example.com.',
      name: 'Write a name of at most 100 characters.',
      organisation: 'Write a name for the organisation, of at most 100 characters.',
    },
  } as Readonly<Record<string, Readonly<Record<string, string>>>>,
}

export type PageTexts = typeof en

const de: PageTexts = {
  email: 'E-Mail',
  name: 'Name',
  password: 'Passwort',
  newPassword: 'Neues Passwort, mindestens 10 Zeichen',
  code: 'Zwei-Faktor-Code, falls Ihr Konto einen verlangt',
  signIn: {
    title: 'Anmelden',
    action: 'Anmelden',
    forgot: 'Passwort vergessen',
    byLink: 'Der Knopf meldet Sie auf diesem Gerät an.',
    own: {
      title: 'Ist das Ihre eigene Instanz?',
      text: 'Dann brauchen Sie noch kein Passwort. Beim Start hat readership einen Link ins Terminal oder ins Protokoll geschrieben. Öffnen Sie ihn in diesem Browser.',
      again: 'Ist der Link benutzt oder älter als 15 Minuten? Auf dem Server gibt es einen neuen:',
    },
    invited: {
      title: 'Wurden Sie eingeladen?',
      text: 'Öffnen Sie den Link in der Einladung.',
    },
    newOrganisation: {
      link: 'Konto anlegen',
      text: ' legt eine neue Organisation ohne Websites an; die Daten anderer sehen Sie damit nicht.',
    },
  },
  register: {
    title: 'Konto anlegen',
    warning:
      'Das legt eine neue Organisation ohne Websites an; die Daten anderer sehen Sie damit nicht. Um die Websites eines Kollegen zu sehen, bitten Sie ihn um eine Einladung.',
    organisation: 'Organisation',
    action: 'Konto anlegen',
    closed: 'Die Registrierung ist geschlossen: Bitten Sie um eine Einladung.',
    hasAccount: 'Sie haben schon ein Konto?',
  },
  reset: {
    title: 'Passwort zurücksetzen',
    action: 'Link anfordern',
    save: 'Passwort speichern',
    noMail:
      'Dieser Dienst hat keinen Mailserver und kann Ihnen keinen Link schicken. Der Betreiber findet den Link, den Sie hier anfordern, im Protokoll oder erzeugt einen auf dem Server:',
    notSent: {
      title: 'Es wurde keine E-Mail gesendet',
      text: 'Bitten Sie den Betreiber um den Link, der ihn auf dem Server erzeugt:',
    },
  },
  confirm: { title: 'E-Mail-Adresse bestätigen', action: 'Bestätigen' },
  inbox: {
    title: 'Sehen Sie in Ihr Postfach',
    registration: 'Ein Link, der die Registrierung abschließt, ist unterwegs.',
    reset: 'Wenn die Adresse ein Konto hat, ist ein Link unterwegs.',
  },
  invitation: {
    title: 'Einladung',
    to: (org, role, email) => `In die Organisation „${org}“, als ${role}, für ${email}.`,
    roles: { owner: 'Inhaber', admin: 'Administrator', member: 'Mitglied', viewer: 'Betrachter' },
    accept: 'Annehmen',
    otherPerson: (email) => `Sie sind als ${email} angemeldet. Machen Sie als eingeladene Person weiter.`,
    withAccount: 'Mit Ihrem Konto',
    signIn: 'Anmelden und annehmen',
    withoutAccount: 'Ohne Konto',
    join: 'Konto anlegen und annehmen',
    openMail: (email) => `Öffnen Sie den Link in der E-Mail an ${email}: Er beweist, dass die Adresse Ihnen gehört.`,
  },
  opening: {
    title: 'Die Daten werden geöffnet',
    text: 'Nach einem Upgrade werden sie womöglich umgestellt, was Minuten dauern kann. Diese Seite lädt sich von selbst neu.',
  },
  problems: {
    unauthorized: {
      any: 'Die E-Mail-Adresse oder das Passwort ist falsch.',
      token: 'Dieser Link wurde schon benutzt, ist unvollständig oder abgelaufen: Fordern Sie einen neuen an.',
      totp: 'Ein gültiger Code Ihrer Authenticator-App oder ein Wiederherstellungscode ist nötig; jeder gilt einmal.',
    },
    rate_limited: { any: 'Zu viele Versuche: Versuchen Sie es später noch einmal.' },
    validation_error: {
      any: 'Eine Angabe fehlt oder ist falsch.',
      email: 'Schreiben Sie eine E-Mail-Adresse, etwa name@example.com.',
      name: 'Schreiben Sie einen Namen von höchstens 100 Zeichen.',
      organisation: 'Schreiben Sie einen Namen der Organisation, von höchstens 100 Zeichen.',
      password:
        'Ein Passwort hat 10 bis 200 Zeichen, ist nicht Ihre E-Mail-Adresse und keines, das Angreifer zuerst versuchen.',
    },
    conflict: {
      any: 'Das wurde schon getan: Melden Sie sich an.',
      email: 'Diese Adresse hat schon ein Konto: Melden Sie sich an.',
    },
    forbidden: { any: 'Das ist hier nicht erlaubt.' },
    not_found: { any: 'Das gibt es nicht, oder es ist abgelaufen.' },
    database_error: { any: 'Die Datenbank antwortet nicht: Versuchen Sie es gleich noch einmal.' },
  },
}

/** Every word of the pages without scripts, by language. */
export const pageTexts: Readonly<Record<Language, PageTexts>> = { en, de }
