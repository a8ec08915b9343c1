import { root } from './address.js'
import { request, toProblem } from './client.js'

interface Question {
  address: string
  resolve(body: unknown): void
  reject(problem: unknown): void
}

/** A line of the answer. */
interface Part {
  part: number
  status: number
  body: unknown
}

/** The most parts that the API takes in one batch. */
const MAX_PARTS = 32

let waiting: Question[] = []

/**
 * Asks for the JSON at an address below the dashboard's root. Questions of one moment, such as all those of a view, go as one
 * request, and each has its answer as soon as it is ready. Throws a `Problem`.
 */
export function askJson(address: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    if (waiting.push({ address, resolve, reject }) === 1) setTimeout(sendWaiting)
  })
}

function sendWaiting(): void {
  const all = waiting
  waiting = []
  while (all.length > 0) {
    const some = all.splice(0, MAX_PARTS)
    if (some.length === 1) askSingly(some)
    else void askTogether(some)
  }
}

function askSingly(questions: readonly Question[]): void {
  for (const { address, resolve, reject } of questions)
    request(address, { headers: { accept: 'application/json' } }).then(resolve, reject)
}

async function askTogether(questions: readonly Question[]): Promise<void> {
  const unanswered = new Map(questions.map((question, i) => [i, question]))
  const base = root.href.replace(/\/$/, '')
  try {
    const response = await fetch(`${base}/api/batch`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ requests: questions.map(({ address }) => address.slice(base.length)) }),
    })
    if (response.ok && response.body)
      for await (const line of linesOf(response.body)) {
        const { part, status, body }: Part = JSON.parse(line)
        const question = unanswered.get(part)
        unanswered.delete(part)
        if (status < 400) question?.resolve(body)
        else question?.reject(toProblem(status, body))
      }
  } catch {
    // A single request fails in the same way if the service cannot be reached, and says so.
  }
  // A proxy in front that does not let the batch through, or cuts it off, may let single requests through.
  askSingly([...unanswered.values()])
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    const lines = (rest + decoder.decode(chunk.value, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}
