import type { evidence as English } from '../en/evidence.js'

export const evidence: typeof English = {
  title: 'Die Mappe',
  agent: 'Agent',
  none: 'Kein Agent hat in dieser Zeit eine verbotene Seite abgerufen. Wählen Sie eine längere Zeit oder einen anderen Agenten auf dessen Seite.',
  sentence: (name, fetches, read) => [
    'Unter dem Namen ',
    name,
    ` sind ${fetches} aufgezeichnet, die robots.txt verbot oder eine Regel abwies; vor ${read} davon hatte derselbe Name die damals gültige robots.txt gelesen.`,
  ],
  fingerprint: 'Fingerabdruck des Schlüssels',
  noKey: 'entsteht mit der ersten Mappe',
  states: 'Sie sagt aus',
  cannotTell: 'Sie kann nicht sagen',
  json: 'JSON herunterladen',
  pdf: 'PDF herunterladen',
  saved: 'Die Mappe ist erstellt und steht im Protokoll.',
  foot: 'Diese Instanz signiert die JSON-Datei. Auf jedem Rechner: readership evidence verify DATEI. Das PDF druckt dieselbe Mappe und nennt ihren Digest. Die Aussagen sind englisch, wie in der Datei.',
  fetches: 'Die verbotenen Abrufe',
}
