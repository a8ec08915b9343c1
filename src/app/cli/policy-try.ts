import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { withClient } from './client.js'
import { defineCommand, flag, idOf, JSON_FLAG, printJson, RANGE_FLAG } from './command.js'
import { escapeText } from './escape.js'
import { showRehearsal } from './progress.js'
import { printTable, right } from './table.js'
import { Failure } from './terminal.js'

const DIFFERENCES: Readonly<Record<string, string>> = {
  too_long: 'the file is longer than the 500 KiB that agents read',
  byte_order_mark: 'a byte order mark, which some parsers take for a part of the record',
  long_line: 'longer than Google reads',
  no_record: 'not a record: it has no colon',
  misspelt: 'misspelt: Google reads it, RFC 9309 ignores it',
  unknown_key: 'a record that parsers ignore',
  preferences: 'preferences, which nothing enforces',
  crawl_delay: 'not part of RFC 9309: Google ignores it, Bing waits',
  licence: 'RSL 1.0: an agent that does not know the record ignores it',
  pattern: 'parsers of the draft of 1994 take the signs * and $ literally',
  token_only: 'a name in robots.txt without a crawler of its own',
  agent_name: 'Google reads only letters, - and _ of a name',
}

/** A text for every agent concerns a hundred search engines, most of them without a fetch. */
const MAX_ENGINES = 10

export const policyTry = defineCommand({
  name: 'policy try',
  summary: 'try a robots.txt on the recorded fetches: which it would have disallowed',
  arguments: [{ syntax: '<file>', doc: 'the text to try' }],
  flags: z.object({
    range: RANGE_FLAG,
    hostname: flag('--hostname <host>', "one of the site's hostnames (default: all)", z.string().optional()),
    site: flag('--site <id>', 'site (default 1)', idOf('a site').default(1)),
    json: JSON_FLAG,
  }),
  async run(call) {
    const { args, flags, terminal } = call
    const { json, ...asked } = flags
    const [file = ''] = args
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw new Failure(`${file} cannot be read: ${error.code ?? error.message}.`)
    })
    const answer = await withClient(call, (client) =>
      showRehearsal(terminal, client.textLines('/api/policy/rehearsal', { ...asked, text, progress: true })),
    )
    if (json) return printJson(terminal, answer)
    // Loaded here, because no other command needs it.
    const { RehearsedText } = await import('../../api/rehearsal/text-shape.js')
    const result = RehearsedText.parse(answer)
    const { newly_disallowed: disallowed, newly_allowed: allowed, hidden } = result
    terminal.out(
      `Of ${result.fetches} fetches the text disallows ${result.disallowed}: ${disallowed.fetches} newly, on ${disallowed.pages} pages; it newly allows ${allowed.fetches}.\n` +
        `It hides ${hidden.llms} links of llms.txt and ${hidden.sitemap} pages of sitemaps from agents that it does not name.\n`,
    )
    const engines = result.search_engines.toSorted((a, b) => b.fetches - a.fetches)
    for (const one of engines.slice(0, MAX_ENGINES))
      terminal.out(`It newly disallows the search engine ${escapeText(one.name)}: ${one.fetches} fetches.\n`)
    if (engines.length > MAX_ENGINES)
      terminal.out(`It newly disallows ${engines.length - MAX_ENGINES} more search engines; --json lists them.\n`)
    const changed = result.agents.filter((one) => one.newly_disallowed.fetches + one.newly_allowed.fetches > 0)
    if (changed.length > 0) terminal.out('\n')
    printTable(
      terminal,
      ['AGENT', right('NEWLY DISALLOWED'), right('NEWLY ALLOWED'), right('IGNORED THE LAST RULE')],
      changed.map(({ name, newly_disallowed, newly_allowed, after }) => [
        name,
        String(newly_disallowed.fetches),
        String(newly_allowed.fetches),
        after.reads === 0 && after.ignored === 0 ? 'never read robots.txt' : String(after.ignored),
      ]),
    )
    for (const { line, fetches } of result.lines) terminal.out(`line ${line} decides ${fetches} fetches\n`)
    for (const { line, kind } of result.differing)
      terminal.out(`${line === undefined ? '' : `line ${line}: `}${DIFFERENCES[kind] ?? kind}\n`)
    for (const { line, problem } of result.problems)
      terminal.out(`${line === undefined ? '' : `line ${line}: `}${escapeText(problem)}\n`)
  },
})
