import { readFileSync, writeFileSync } from 'node:fs'
import { docsLists, replaceList } from './fixtures/docs-lists.js'
import { readOpenApiDocument } from './fixtures/openapi-document.js'

// `npm run docs`: writes the lists of commands, settings and endpoints into the READMEs.
for (const { file, ...list } of docsLists(await readOpenApiDocument()))
  writeFileSync(file, replaceList(readFileSync(file, 'utf8'), list))
