import { plural } from '../../state/format.js'
import type { Texts } from '../shape.js'

export const sources: Texts['sources'] = {
  sentence: (when, visits, best, share) => [
    when,
    ' gab es ',
    visits.shown,
    '; der größte Kanal war ',
    best,
    ` mit ${share}.`,
  ],
  assistants: (visits, share, first) => [' KI-Assistenten brachten ', visits.shown, ` (${share}), zuerst `, first, '.'],
  noAssistants: ' Von KI-Assistenten kam, soweit bekannt, kein Besuch.',
  none: (when) => [when, ' kam niemand.'],
  channels: 'Kanäle',
  channel: 'Kanal',
  source: 'Quelle',
  campaigns: 'Kampagnen',
  campaign: 'Kampagne',
  assistantsTitle: 'KI-Assistenten',
  sourcesNone: 'In dieser Zeit kam niemand. Wählen Sie eine längere Zeit.',
  campaignsNone:
    'Kein Besuch hatte eine Kampagne. Hängen Sie utm_source, utm_medium und utm_campaign an die Links, die Sie veröffentlichen.',
  direct: 'Direkt: kein Referrer gesendet',
  agents: 'Agenten senden keinen Referrer, der ihre Herkunft verrät; hier ist für sie nichts zu zeigen.',
  spam: (people) =>
    plural(people.n, {
      one: `${people.text} kam mit dem Referrer einer bekannten Spam-Seite. Der Besuch zählt als direkt.`,
      other: `${people.text} kamen mit dem Referrer einer bekannten Spam-Seite. Ihre Besuche zählen als direkt.`,
    }),
  spamShow: 'Zeigen',
}
