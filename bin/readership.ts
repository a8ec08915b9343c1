#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { runProgram, type Terminal } from '../src/app/cli/index.js'

/** Reads `process`, as no other file of the program does; everything else gets a `Terminal`. */
const { version }: { version: string } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
)

/** A server keeps running if the reader of its log goes away; any other command ends. */
let isServer = false

/** Reads the limit of open files on Linux; Node has raised the soft limit to the hard one at its start. */
function openFiles(): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? []
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}

/** Shows text in the pager of the user, else in `less`, which ends by itself if the text fits. */
function page(text: string): Promise<boolean> {
  if (!process.stdout.isTTY || !process.stdin.isTTY) return Promise.resolve(false)
  const { PAGER, LESS = 'FRX' } = process.env
  return new Promise((resolve) => {
    // A variable of the user, which may have arguments: the shell runs it, as git and man do.
    const child = spawn(PAGER || 'less', {
      shell: true,
      stdio: ['pipe', 'inherit', 'inherit'],
      env: { ...process.env, LESS },
    })
    child.on('error', () => resolve(false))
    // 127: the shell found no such program.
    child.on('close', (code) => resolve(code !== 127))
    // The user may leave before the end of the text.
    child.stdin.on('error', () => {})
    child.stdin.end(text)
  })
}

const terminal: Terminal = {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  outBytes: (bytes) => process.stdout.write(bytes),
  page,
  input: () => process.stdin.setEncoding('utf8'),
  inputBytes: () => process.stdin,
  drained: () =>
    new Promise((resolve) => {
      if (process.stdout.writableNeedDrain) process.stdout.once('drain', resolve)
      else resolve()
    }),
  // Read again for each screen: the user may change the size of the terminal.
  get columns() {
    return process.stdout.isTTY ? process.stdout.columns : undefined
  },
  get rows() {
    return process.stdout.isTTY ? process.stdout.rows : undefined
  },
  errColumns: process.stderr.isTTY ? process.stderr.columns : undefined,
  colour: process.stdout.isTTY === true && !process.env.NO_COLOR,
  version,
  pid: process.pid,
  openFiles: openFiles(),
  env: process.env,
  onSignal: (name, listener) => process.on(name, listener),
  onUncaughtError(listener) {
    isServer = true
    process.on('uncaughtException', listener)
    process.on('unhandledRejection', listener)
  },
  exit: (code) => process.exit(code),
}

// If the reader closes the pipe, as in `readership tail | head`, the command ends without an error.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (isServer) return
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })

process.exitCode = await runProgram(process.argv.slice(2), terminal)
