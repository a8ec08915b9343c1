import { readFileSync, writeFileSync } from 'node:fs'
import { docsTables, replaceTable } from './fixtures/docs-tables.js'
import { readOpenApiDocument } from './fixtures/openapi-document.js'

// `npm run docs`: writes the tables of commands, settings and endpoints into the READMEs.
for (const { file, ...table } of docsTables(await readOpenApiDocument()))
  writeFileSync(file, replaceTable(readFileSync(file, 'utf8'), table))
