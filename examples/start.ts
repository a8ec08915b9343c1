// The program of `npm start`. Without an origin it runs the demo. With an origin, as in
// `npm start -- http://localhost:3000`, it is `readership proxy`. Both take its flags and variables.
import { fileURLToPath } from 'node:url'
import { readDemoSettings, startDemo } from './demo.js'

const program = fileURLToPath(new URL('../bin/readership.js', import.meta.url))
const words = process.argv.slice(2)

// npm ends its shell, which passes no signal on: when the shell is gone, this process ends too.
if (process.env.npm_lifecycle_event === 'start') {
  const shell = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === shell) return
    clearInterval(watch)
    process.kill(process.pid, 'SIGTERM')
  }, 500)
  watch.unref()
}

let isDemo = false
try {
  isDemo = readDemoSettings(words, process.env).config.origin === undefined
  if (isDemo) await demo()
  else {
    process.argv = [process.execPath, program, 'proxy', ...words]
    await import(program)
  }
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : error}`)
  // A wrong setting is wrong usage; a taken port or a demo that runs already is not.
  process.exit(isDemo ? 1 : 2)
}

async function demo(): Promise<void> {
  const running = startDemo({
    words,
    env: process.env,
    program,
    seed: 20261121,
    burst: 60,
    rate: 0.3,
    history: { days: 75, people: 60, agents: 60 },
    print: (text) => console.log(text),
  })
  let stopping = false
  const stop = async (signalled: boolean) => {
    if (stopping) process.exit(1)
    stopping = true
    await (await running)?.close(signalled)
    process.exit(0)
  }
  process.on('SIGINT', () => void stop(true))
  process.on('SIGTERM', () => void stop(false))
  const started = await running
  if (stopping) return
  if (!started) process.exit(1)
  const code = await started.ended
  if (stopping) return
  await started.close()
  process.exit(code)
}
