/** The signals against a visitor, in the order of `suspected_by`. The text before the colon is the family. */
export const SUSPICION_SIGNALS = [
  {
    name: 'headers:no_navigation',
    meaning: 'No Sec-Fetch headers, which a modern browser sends when it opens a page.',
  },
  { name: 'headers:no_language', meaning: 'The request names no language (Accept-Language).' },
  {
    name: 'headers:accept',
    meaning: 'The client asks for something else than HTML, such as Markdown.',
  },
  { name: 'headers:no_gzip', meaning: 'The client does not accept compressed responses.' },
  {
    name: 'headers:client_hints',
    meaning: 'Client hints that name another browser or version than the user agent, or a headless one.',
  },
  { name: 'headers:stale_browser', meaning: 'A plain Chrome from before 2020 on a later system.' },
  {
    name: 'headers:order',
    meaning: 'The client says it is a Chromium, but orders or spells its header fields as none does.',
  },
  {
    name: 'headers:http1',
    meaning: 'A Chromium speaks HTTP/2 where it is offered over TLS; this client spoke HTTP/1.1.',
  },
  { name: 'network:hosting', meaning: 'The address belongs to a network that rents out servers.' },
  { name: 'behaviour:burst', meaning: 'More than 30 pages in 10 seconds, reached by no link.' },
  { name: 'behaviour:sweep', meaning: 'More than 25 different pages in 60 seconds, reached by no link.' },
  { name: 'behaviour:policy_first', meaning: 'The first request was for robots.txt, llms.txt or a sitemap.' },
  {
    name: 'behaviour:no_assets',
    meaning: 'The client loaded no image, style or script with its pages, where nearly all visitors do.',
  },
  {
    name: 'behaviour:network_sweep',
    meaning: 'More than 25 different pages in 60 s to one /24 (IPv6: /48), without images, styles or scripts.',
  },
] as const
export type SuspicionSignal = (typeof SUSPICION_SIGNALS)[number]['name']

/** The families of signals. A view is suspected if at least two of them speak against its visitor. */
export const SUSPICION_FAMILIES = ['headers', 'network', 'behaviour'] as const

export const familyOf = (signal: string): string => signal.slice(0, signal.indexOf(':'))
