#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { runProgram, type Terminal } from '../src/cli/index.js'

/** The only reader of `process`: arguments, environment, signals and streams become arguments here. */
const { version }: { version: string } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
)

const terminal: Terminal = {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  columns: process.stdout.isTTY ? process.stdout.columns : undefined,
  colour: process.stdout.isTTY === true && !process.env.NO_COLOR,
  version,
  pid: process.pid,
  env: process.env,
  onSignal: (name, listener) => process.on(name, listener),
  onFault(listener) {
    process.on('uncaughtException', listener)
    process.on('unhandledRejection', listener)
  },
  exit: (code) => process.exit(code),
}

// `readership tail | head`: who stops reading ends the command, quietly.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

process.exitCode = await runProgram(process.argv.slice(2), terminal)
