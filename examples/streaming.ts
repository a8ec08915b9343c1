// A server that behaves like Next.js: it streams a page in pieces, compresses it itself, and the browser fetches later
// pages as data and pushes them into the history. To put readership in front:
// readership proxy http://localhost:3000 --inject
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { constants, createGzip } from 'node:zlib'

const shell = (path: string) => `<!doctype html><html><head><meta charset="utf-8"><title>${path}</title>
<script>addEventListener('click', (event) => {
  const to = event.target.closest('a')?.pathname
  if (!to) return
  event.preventDefault()
  fetch('/_data' + to).then((r) => r.json()).then(({ title }) => {
    history.pushState({}, '', to)
    document.title = document.querySelector('h1').textContent = title
  })
})</script></head><body><nav><a href="/">Home</a> <a href="/about">About</a></nav><h1>${path}</h1><p id="slow">…</p>`
const LATE = `<template id="late">The part that took long.</template>
<script>slow.replaceWith(late.content)</script></body></html>`

const server = createServer(async (req, res) => {
  const { pathname } = new URL(req.url ?? '/', 'http://localhost')
  if (pathname.startsWith('/_data/')) {
    res.setHeader('content-type', 'application/json')
    res.end(JSON.stringify({ title: pathname.slice('/_data'.length) }))
    return
  }
  const gzip = /\bgzip\b/.test(String(req.headers['accept-encoding']))
  res.writeHead(200, {
    'content-type': 'text/html; charset=utf-8',
    vary: 'Accept-Encoding',
    ...(gzip && { 'content-encoding': 'gzip' }),
  })
  const out = gzip ? createGzip({ flush: constants.Z_SYNC_FLUSH }) : res
  if (out !== res) out.pipe(res)
  out.write(shell(pathname.replace(/[^\w/-]/g, '')))
  await sleep(400)
  out.end(LATE)
})
const port = Number(process.env.PORT ?? 3000)
server.listen(port, '127.0.0.1', () => console.log(`http://localhost:${port}/`))
