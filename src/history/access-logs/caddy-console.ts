import { CADDY } from './json.js'
import { defineFormat } from './log-format.js'

/** Caddy's `console` encoder: time, level, logger and message, separated by tabs, then the fields as JSON. */
export const CADDY_CONSOLE = defineFormat({
  name: 'caddy-console',
  title: 'Caddy, console',
  traits: 'have a time, a level, a logger and a message between tabs, and then Caddy’s JSON',
  createParser(options) {
    const parse = CADDY.createParser(options)
    return (line) => {
      const { time, logger, fields } = CONSOLE_LINE.exec(line)?.groups ?? {}
      if (time === undefined || logger === undefined) return undefined
      if (!logger.startsWith('http.log.access')) return 'skip'
      if (fields?.startsWith('{') !== true) return undefined
      return parse(`{"ts":${JSON.stringify(time)},${fields.slice(1)}`)
    }
  },
})
const CONSOLE_LINE =
  /^(?<time>[^\t]{8,40})\t(?:debug|info|warn|error|dpanic|panic|fatal|DEBUG|INFO|WARN|ERROR)\t(?<logger>[^\t]*)(?:\t[^\t{]*)?(?:\t(?<fields>\{.*))?$/
