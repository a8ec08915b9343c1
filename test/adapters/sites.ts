import { createServer, type Server } from 'node:http'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { createGzip, gzipSync } from 'node:zlib'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import { Hono } from 'hono'
import { compress } from 'hono/compress'
import { stream } from 'hono/streaming'
import { middleware as forExpress } from '../../adapters/express.js'
import { middleware as forHono } from '../../adapters/hono.js'
import { listener } from '../../adapters/node.js'
import type { Readership } from '../../src/index.js'

/** The paths of a site under test: the fewest that show what an adapter can get wrong. */
export const SITE = {
  /** 200, `text/html; charset=utf-8`. */
  '/page': '<h1>hello</h1>',
  /** 500. */
  '/boom': 'boom',
  /** 200, gzip of this text if the client accepts it. */
  '/zip': 'z'.repeat(20_000),
  /** 200, three pieces of 5 bytes, 30 ms apart. */
  '/stream': 'piece',
  /** 200, pieces of 64 KB without end. */
  '/endless': 65_536,
  /** Responds after a second. */
  '/slow': 'late',
  /** 204. */
  '/none': '',
  /** 304. */
  '/same': '',
  /** Below a prefix, served by a nested site. */
  '/blog/post': 'post',
} as const

/** A site as `SITE` says, with `/throws` whose handler throws, and the adapter in front of it `mounts` times. */
export type Start = (readership: Readership, mounts?: number) => Server

const express4: typeof express = createRequire(import.meta.url)('express4')

const onExpress =
  (made: typeof express): Start =>
  (readership, mounts = 1) => {
    const site = made()
    for (let n = 0; n < mounts; n++) site.use(forExpress(readership))
    // Compresses as middleware does: replaces `write` and `end` after the adapter did.
    site.use('/zip', (_req, res, next) => {
      const write = res.write.bind(res)
      const end = res.end.bind(res)
      const gzip = createGzip()
      gzip.on('data', (chunk: Buffer) => write(chunk))
      gzip.on('end', () => end())
      res.setHeader('content-encoding', 'gzip')
      res.end = (chunk: unknown) => {
        res.removeHeader('content-length')
        gzip.end(chunk)
        return res
      }
      next()
    })
    site.get('/page', (_req, res) => void res.type('html').send(SITE['/page']))
    site.get('/boom', (_req, res) => void res.status(500).send(SITE['/boom']))
    site.get('/zip', (_req, res) => void res.send(SITE['/zip']))
    site.get('/stream', async (_req, res) => {
      for (let i = 0; i < 3; i++) {
        res.write(SITE['/stream'])
        await sleep(30)
      }
      res.end()
    })
    site.get('/endless', (_req, res) => {
      const more = () => {
        while (res.write(Buffer.alloc(SITE['/endless'])));
      }
      res.on('drain', more)
      more()
    })
    site.get('/slow', (_req, res) => void setTimeout(() => res.send(SITE['/slow']), 1000))
    site.get('/none', (_req, res) => void res.status(204).end())
    site.get('/same', (_req, res) => void res.status(304).end())
    const blog = made()
    for (let n = 1; n < mounts; n++) blog.use(forExpress(readership))
    blog.get('/post', (_req, res) => void res.send(SITE['/blog/post']))
    site.use('/blog', blog)
    site.get('/throws', () => {
      throw new Error('a fault')
    })
    // Keeps Express from printing the error.
    site.set('env', 'test')
    return createServer(site)
  }

const onHono: Start = (readership, mounts = 1) => {
  const site = new Hono()
  for (let n = 0; n < mounts; n++) site.use(forHono(readership))
  site.use('/zip', compress())
  site.get('/page', (c) => c.html(SITE['/page']))
  site.get('/boom', (c) => c.text(SITE['/boom'], 500))
  site.get('/zip', (c) => c.text(SITE['/zip']))
  site.get('/stream', (c) =>
    stream(c, async (out) => {
      for (let i = 0; i < 3; i++) {
        await out.write(SITE['/stream'])
        await sleep(30)
      }
    }),
  )
  site.get('/endless', (c) =>
    stream(c, async (out) => {
      while (!out.aborted) await out.write(Buffer.alloc(SITE['/endless']))
    }),
  )
  site.get('/slow', async (c) => {
    await sleep(1000)
    return c.text(SITE['/slow'])
  })
  site.get('/none', (c) => c.body(null, 204))
  site.get('/same', (c) => c.body(null, 304))
  const blog = new Hono()
  for (let n = 1; n < mounts; n++) blog.use(forHono(readership))
  blog.get('/post', (c) => c.text(SITE['/blog/post']))
  site.route('/blog', blog)
  site.get('/throws', () => {
    throw new Error('a fault')
  })
  site.onError((_error, c) => c.text('sorry', 500))
  return createServer(getRequestListener(site.fetch, { overrideGlobalObjects: false }))
}

export const onNode: Start = (readership, mounts = 1) => {
  let handle = listener(readership, async (req, res) => {
    const path = (req.url ?? '').split('?')[0]
    const html = { 'content-type': 'text/html; charset=utf-8' }
    if (path === '/page') res.writeHead(200, html).end(SITE['/page'])
    else if (path === '/boom') res.writeHead(500).end(SITE['/boom'])
    else if (path === '/zip') res.writeHead(200, { ...html, 'content-encoding': 'gzip' }).end(gzipSync(SITE['/zip']))
    else if (path === '/stream') {
      for (let i = 0; i < 3; i++) {
        res.write(SITE['/stream'])
        await sleep(30)
      }
      res.end()
    } else if (path === '/endless') {
      const more = () => {
        while (res.write(Buffer.alloc(SITE['/endless'])));
      }
      res.on('drain', more)
      more()
    } else if (path === '/slow') setTimeout(() => res.end(SITE['/slow']), 1000)
    else if (path === '/none') res.writeHead(204).end()
    else if (path === '/same') res.writeHead(304).end()
    else if (path === '/blog/post') res.end(SITE['/blog/post'])
    // An error in a plain handler would end the process, so this handler responds itself.
    else if (path === '/throws') res.writeHead(500).end()
    else res.writeHead(404).end()
  })
  for (let n = 1; n < mounts; n++) handle = listener(readership, handle)
  return createServer(handle)
}

/** Every adapter for Node, on each of its frameworks. */
export const SITES: Readonly<Record<string, Start>> = {
  'Express 5': onExpress(express),
  'Express 4': onExpress(express4),
  'Hono on Node': onHono,
  'plain http': onNode,
}
