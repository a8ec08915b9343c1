import { plural } from '../../state/format.js'
import type { Texts } from '../shape.js'

export const sources: Texts['sources'] = {
  sentence: (when, visits, best, share) => [
    when,
    ' gab es ',
    visits,
    '; der größte Kanal war ',
    best,
    ` mit ${share}.`,
  ],
  assistants: (visits, first) => [' KI-Assistenten schickten ', visits, ', zuerst ', first, '.'],
  noAssistants: ' Von KI-Assistenten kam, soweit bekannt, niemand.',
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
  spam: (n, shown) =>
    plural(n, {
      one: 'Ein Besucher kam mit dem Referrer einer bekannten Spam-Seite. Er zählt als direkt.',
      other: `${shown} Besucher kamen mit dem Referrer einer bekannten Spam-Seite. Sie zählen als direkt.`,
    }),
  spamShow: 'Zeigen',
}
