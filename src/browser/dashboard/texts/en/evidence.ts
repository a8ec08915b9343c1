import type { Parts } from '../rich-text.js'

export const evidence = {
  title: 'The folder',
  agent: 'Agent',
  none: 'No agent fetched a disallowed page in this time. Choose a longer time, or another agent on its page.',
  sentence: (name: unknown, fetches: string, read: string): Parts => [
    'Under the name ',
    name,
    `, the record has ${fetches} that robots.txt disallowed or a rule refused; before ${read} of these, the same name had read the robots.txt that was active.`,
  ],
  fingerprint: 'Fingerprint of the key',
  noKey: 'made with the first folder',
  states: 'It states',
  cannotTell: 'It cannot tell',
  json: 'Download JSON',
  pdf: 'Download PDF',
  saved: 'The folder is made and is in the audit log.',
  foot: 'The JSON file is signed by this instance. On any machine: readership evidence verify FILE. The PDF prints the same folder and has its digest.',
  fetches: 'The disallowed fetches',
}
