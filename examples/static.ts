// A site of static files from the given folder (default ./public). To put readership in front, with the tracker:
// readership proxy http://localhost:3000 --inject
import { createReadStream, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join, resolve, sep } from 'node:path'

const root = resolve(process.argv[2] ?? 'public')
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
}

/** Returns the file of a path, or undefined if it would lie outside the folder. */
function fileOf(pathname: string): string | undefined {
  try {
    const file = join(root, decodeURIComponent(pathname))
    return file.startsWith(`${root}${sep}`) && !file.includes('\0') ? file : undefined
  } catch {
    return undefined
  }
}

const server = createServer((req, res) => {
  const { pathname } = new URL(req.url ?? '/', 'http://localhost')
  const file = fileOf(pathname.endsWith('/') ? `${pathname}index.html` : pathname)
  const stats = file === undefined ? undefined : statSync(file, { throwIfNoEntry: false })
  if (file === undefined || !stats?.isFile()) {
    res.writeHead(404, { 'content-type': TYPES['.html'] }).end('<!doctype html><title>Not found</title>Not found')
    return
  }
  const etag = `"${stats.size.toString(36)}-${Math.floor(stats.mtimeMs).toString(36)}"`
  const type = new Map(Object.entries(TYPES)).get(extname(file)) ?? 'application/octet-stream'
  const headers = { 'content-type': type, 'cache-control': 'no-cache', etag }
  if (req.headers['if-none-match']?.includes(etag)) res.writeHead(304, headers).end()
  else if (req.method === 'HEAD') res.writeHead(200, { ...headers, 'content-length': stats.size }).end()
  else createReadStream(file).pipe(res.writeHead(200, { ...headers, 'content-length': stats.size }))
})
server.on('clientError', (_error, socket) => socket.destroy())
const port = Number(process.env.PORT ?? 3000)
server.listen(port, '127.0.0.1', () => console.log(`http://localhost:${port}/ of ${root}`))
