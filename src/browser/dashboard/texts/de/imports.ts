import type { Texts } from '../shape.js'
export const imports: Texts['imports'] = {
  intro:
    'Zugriffsprotokolle von nginx, Apache, Caddy, HAProxy, IIS, CloudFront, Fastly und anderen, auch mit gzip oder zstd komprimiert. Was schon gespeichert ist, wird nicht noch einmal gespeichert.',
  list: 'Protokolle',
  drop: 'Dateien hier ablegen oder',
  choose: 'Dateien wählen',
  larger: 'Oder auf dem Server selbst: npx readership import DATEI',
  host: 'Hostname des Protokolls',
  hostHint: 'Die Website nennt keine Domain. Zeilen ohne Hostnamen erhalten diesen.',
  keepOpen:
    'Sie können andere Ansichten öffnen. Lassen Sie diesen Tab offen, bis die Dateien gesendet sind; der Import läuft dann ohne ihn weiter.',
  sending: (sent, all) => `${sent} von ${all} gesendet`,
  waiting: 'Wartet, bis der Import davor beendet ist',
  notImported: 'Von dieser Datei wurde nichts importiert.',
  stop: 'Anhalten',
  forget: 'Von der Liste nehmen',
  undo: 'Rückgängig machen',
  undoTitle: (name) => `Import von ${name} rückgängig machen?`,
  undoText: 'Seine Zeilen werden entfernt, und Besuche sind wieder wie zuvor.',
  removing: 'Wird rückgängig gemacht. Danach verschwindet er von der Liste.',
  running: (share, day, people, agents) =>
    `${[share, day && `beim ${day}`].filter(Boolean).join(', ')}: bisher ${people.text} von Menschen und ${agents.text} von Agenten. Sie können diese Seite verlassen.`,
  done: (lines, people, agents) => `${people.text} von Menschen und ${agents.text} von Agenten aus ${lines} Zeilen.`,
  failed: 'Er endete vorzeitig:',
  skipped: (n) => `${n} Zeilen wurden nicht gespeichert: warum`,
  reasons: {
    notPages: 'von Menschen für anderes als Seiten, oder für andere Hostnamen',
    data: 'von Menschen unter Datenpfaden wie /api/',
    known: 'die schon gespeichert waren',
    broken: 'die nicht das Format des Protokolls haben',
  },
}
