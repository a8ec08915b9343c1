import { counted } from '../../state/format.js'
import type { Texts } from '../shape.js'

export const units: Texts['units'] = {
  people: (n) => counted(n, 'Mensch', 'Menschen'),
  visits: (n) => counted(n, 'Besuch', 'Besuche'),
  pageviews: (n) => counted(n, 'Seitenaufruf', 'Seitenaufrufe'),
  reads: (n) => counted(n, 'Lesezugriff', 'Lesezugriffe'),
  fetches: (n) => counted(n, 'Abruf', 'Abrufe'),
  pages: (n) => counted(n, 'Seite', 'Seiten'),
  aiVisits: (n) => counted(n, 'KI-Besuch', 'KI-Besuche'),
  agents: (n) => counted(n, 'Agent', 'Agenten'),
  events: (n) => counted(n, 'Ereignis', 'Ereignisse'),
  errors: (n) => counted(n, 'Fehler', 'Fehler'),
}
