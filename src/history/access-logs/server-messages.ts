/**
 * Lines that a server writes about itself between those of requests: starts, notices, failed handshakes, its error log.
 * Containers and syslog mix them with the access log.
 */
const MESSAGES: readonly RegExp[] = [
  // nginx's error log, and what its container image prints at the start.
  /^\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d \[(?:debug|info|notice|warn|error|crit|alert|emerg)\] /,
  /^(?:\/docker-entrypoint\.sh|\d\d-[\w-]+\.(?:sh|envsh)): /,
  // Apache's error log.
  /^\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:.]+ \d{4}\] \[[\w:-]+\] /,
  // HAProxy: a connection without a request, and notices. A line with a client and a time that says no more is broken.
  /(?:^|[ \]])[\da-fA-F.:]+:\d+ \[\d\d\/[A-Z][a-z]{2}\/\d{4}:[\d:.]+\] [^ /]+\/[^ :]+: [A-Z]/,
  /\bhaproxy\[\d+\]: (?:\[[A-Z]+\] |Proxy |Server |backend |Health |[A-Z][a-z]+ing )/,
  /^\[(?:NOTICE|WARNING|ALERT)\] +(?:\(\d+\)|\d+\/\d+)/,
]
/** No message of interest is longer, and no pattern looks further. */
const MAX_MESSAGE_CHARS = 400

/** Returns whether a server wrote the line about itself, so that it is neither a request nor broken. */
export function isServerMessage(line: string): boolean {
  const start = line.length > MAX_MESSAGE_CHARS ? line.slice(0, MAX_MESSAGE_CHARS) : line
  return MESSAGES.some((message) => message.test(start))
}
