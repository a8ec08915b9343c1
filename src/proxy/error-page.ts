import { STATUS_CODES } from 'node:http'
import { type Outgoing, sendBody, sendHead } from './response-writer.js'

/** A small plain page of our own: the status in words, nothing of the cause. Returns its body's length in bytes. */
export function sendErrorPage(res: Outgoing, status: number, method: string, close = false): number {
  const body = `${status} ${STATUS_CODES[status] ?? 'Error'}\n`
  const fields = ['Content-Type', 'text/plain; charset=utf-8', 'Content-Length', String(body.length)]
  fields.push('Cache-Control', 'no-store')
  if (status === 405) fields.push('Allow', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS')
  if (close && 'shouldKeepAlive' in res) fields.push('Connection', 'close')
  sendHead(res, status, STATUS_CODES[status] ?? 'Error', fields)
  if (method !== 'HEAD') sendBody(res, body)
  res.end()
  return method === 'HEAD' ? 0 : body.length
}
