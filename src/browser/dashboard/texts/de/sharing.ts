import type { Texts } from '../shape.js'
export const sharing: Texts['sharing'] = {
  title: 'Diese Ansicht teilen',
  members: 'Für Mitglieder, die sich anmelden: die Ansicht mit Zeit, Filtern und Leserschaft.',
  everyone: 'Für alle, die den Link haben',
  never: (view) => `Kein geteilter Link zeigt ${view}: Er würde von einzelnen Besuchern erzählen oder etwas ändern.`,
  opens: (view, scopes) =>
    `Der Link öffnet ${view} so, wie es zu sehen ist, ohne Konto. Er zeigt: ${scopes}. Wer ihn liest, kann Zeit und Filter ändern.`,
  make: 'Link anlegen',
  endsHint: 'Leer: Er gilt, bis er zurückgenommen wird.',
  made: 'Ändern oder später zurücknehmen:',
  revoke: 'Zurücknehmen',
  revoked: 'Der Link gilt nicht mehr.',
  copied: 'Der Link ist angelegt und kopiert.',
  closed: {
    title: (view) => `Dieser Link zeigt ${view} nicht`,
    needs: (scope) =>
      `Ihm fehlt das Recht „${scope}“. Bitten Sie die Person, die ihn gesendet hat, um einen mit diesem Recht.`,
  },
}
