import { MAX_CHARACTERS, truncate } from '../base/text-limits.js'

/**
 * The names by which operating systems are stored, and the spellings that `ua-parser-js` and `Sec-CH-UA-Platform` use
 * for them. The parser passes on the spelling of the user agent, so spellings are compared without regard to case.
 */
const SPELLINGS: readonly (readonly [name: string, ...spellings: string[]])[] = [
  ['Android', 'Android-x86'],
  ['BeOS'],
  ['BlackBerry'],
  ['Bada'],
  ['ChromeOS', 'Chromium OS', 'Chrome OS'],
  ['Fuchsia'],
  ['HarmonyOS'],
  ['iOS'],
  ['KaiOS', 'Firefox OS'],
  // Distributions count as one system, because only some of them name themselves, in some browsers.
  ['Linux', 'Ubuntu', 'Debian', 'Fedora', 'Mint', 'Arch', 'SUSE', 'RedHat', 'Red Hat', 'CentOS', 'Gentoo', 'Mageia'],
  ['Linux', 'Mandriva', 'Manjaro', 'Raspbian', 'elementary OS', 'Deepin', 'PCLinuxOS', 'Linspire', 'Slackware', 'GNU'],
  ['Linux', 'VectorLinux', 'Zenwalk', 'Kubuntu', 'Xubuntu', 'Lubuntu', 'Sabayon', 'Linpus', 'Joli'],
  ['macOS', 'Mac OS', 'Mac OS X'],
  ['Nintendo'],
  ['PlayStation'],
  ['Symbian'],
  ['TiVo OS'],
  ['Tizen'],
  ['Unix'],
  ['VIDAA'],
  ['watchOS'],
  ['webOS', 'Web0S'],
  ['Windows'],
  ['Windows Phone', 'Windows Phone OS', 'Windows Mobile'],
  ['Xbox'],
]
/** Portals and makers of televisions, which the parser takes for systems. */
export const TELEVISION_PORTALS = ['NETRANGE', 'NETTV', 'VIERA']

const NAMES = new Map<string, string | null>([
  ...SPELLINGS.flatMap((names) => names.map((spelling) => [spelling.toLowerCase(), names[0]] as const)),
  ...TELEVISION_PORTALS.map((name) => [name.toLowerCase(), null] as const),
])

/** Returns the name by which an operating system is stored; null for none. A system that is not in the list keeps its name. */
export function nameSystem(name: string | undefined): string | null {
  if (name === undefined || name === '') return null
  const known = NAMES.get(name.toLowerCase())
  return known === undefined ? truncate(name, MAX_CHARACTERS.text) : known
}
