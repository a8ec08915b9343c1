import { buildDocs } from './site.js'

// The last step of `npm run docs`.
await buildDocs()
