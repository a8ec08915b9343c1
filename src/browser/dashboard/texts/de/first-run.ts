import type { Texts } from '../shape.js'
export const firstRun: Texts['firstRun'] = {
  title: (name) => `${name} einrichten`,
  text: 'readership läuft. Die Reihenfolge ist frei; das Dashboard öffnet sich von selbst mit dem ersten Besuch oder Lesezugriff.',
  reach: 'Ihre Website antwortet',
  reachLater:
    'Noch nicht gefragt: readership fragt die Website nach ihrer robots.txt, sobald es einen Hostnamen kennt.',
  reached: (at, status) => `Sie antwortete um ${at} mit ${status}, als sie nach ihrer robots.txt gefragt wurde.`,
  reachFailed: (at, reason) =>
    `Sie antwortete um ${at} nicht: ${reason}. Läuft sie, und ist ihre Adresse die, mit der readership gestartet wurde?`,
  name: 'Name und Zeitzone',
  nameText: 'Tage beginnen um Mitternacht dieser Zone. Beides lässt sich später ändern.',
  robotsLater:
    'Jeder Lesezugriff eines Agenten wird nach der robots.txt seines Augenblicks beurteilt. Sie wurde noch nicht abgerufen.',
  robotsLink: 'Was jeder Agent lesen darf',
  logs: 'Alte Protokolle einlesen',
  waysIn: 'Vor Ihre Website stellen',
  install: 'Alle Wege, auch für andere Server',
  hosts: 'Kommt nichts an?',
  hostsText: (domains) =>
    domains.length === 0
      ? 'Die Website hat noch keine Domain, deshalb zählen Besuche jedes Hostnamens.'
      : `Besuche anderer Hostnamen als ${domains.join(', ')} werden nicht erfasst. Ergänzen Sie einen in den Einstellungen der Website.`,
  refused: (hostname) => [
    'Anfragen an ',
    hostname,
    ' kommen an und werden abgewiesen, weil die Website diesen Hostnamen nicht führt. Wenn er Ihnen gehört, ergänzt ihn dieser Befehl:',
  ],
  arrivals: {
    agent: { seen: 'Ein Agent kam', waiting: 'Warten auf einen Agenten' },
    person: { seen: 'Ein Mensch kam', waiting: 'Warten auf einen Menschen' },
    script: { seen: 'Das Skript meldet sich', waiting: 'Skript: in 24 Stunden nicht gesehen' },
    spoofed: 'Er nennt sich nur so: Die Adresse gehört nicht dem Betreiber. Bei Ihrem eigenen Test ist das so.',
    needsScript: 'Zeit auf der Seite, Vitals und Fehler brauchen es; das Zählen der Seiten nicht.',
  },
  demo: 'Nur schauen?',
  demoText:
    'In einem Checkout von readership startet dies eine erfundene Website mit 75 Tagen Vergangenheit. Sie bleibt für sich.',
}
