import type { Parts } from '../rich-text.js'

export const firstRun = {
  title: (name: string) => `Set up ${name}`,
  text: 'readership is running. Do these in any order; the dashboard opens by itself with the first visit or read.',
  reach: 'Your site responds',
  reachLater: 'Not asked yet: readership asks the site for its robots.txt when it knows a hostname of it.',
  reached: (at: string, status: number) =>
    `It responded with ${status} at ${at}, when it was asked for its robots.txt.`,
  reachFailed: (at: string, reason: string) =>
    `It did not respond at ${at}: ${reason}. Is it running, and is its address the one that readership was started with?`,
  name: 'Name and time zone',
  nameText: 'Days begin at midnight of this zone. Both can be changed later.',
  robotsLater: 'Each read by an agent is judged by the robots.txt of its moment. It has not been fetched yet.',
  robotsLink: 'What each agent may read',
  logs: 'Bring in old logs',
  waysIn: 'Put it in front of your site',
  install: 'All ways in, also for other servers',
  hosts: 'Does nothing arrive?',
  hostsText: (domains: readonly string[]) =>
    domains.length === 0
      ? 'The site has no domain yet, so visits of every hostname are taken.'
      : `Visits of other hostnames than ${domains.join(', ')} are not recorded. Add a hostname in the settings of the site.`,
  refused: (hostname: unknown): Parts => [
    'Requests for ',
    hostname,
    ' arrive and are refused, because the site does not list it. If that hostname is yours, this adds it:',
  ],
  arrivals: {
    agent: { seen: 'An agent came', waiting: 'Waiting for an agent' },
    person: { seen: 'A person came', waiting: 'Waiting for a person' },
    script: { seen: 'The script reports', waiting: 'Script: not seen in 24 hours' },
    spoofed: 'It only claims that name: its address is not the operator’s. With your own test this is so.',
    needsScript: 'Time on page, vitals and errors need it; counting pages does not.',
  },
  demo: 'Only looking?',
  demoText: 'In a checkout of readership, this starts a made-up site with 75 days of past. It keeps to itself.',
}
