import { html, raw } from 'hono/html'
import { TOKENS } from './account/html.js'
import type { Language } from './account/page-language.js'
import { type DocsTexts, docsTexts } from './docs-texts.js'
import type { ApiOperation, ApiResponseObject, OpenApiDocument } from './openapi.js'
import type { Parameter } from './openapi-parameters.js'
import { describeType, listFields, type SchemaField } from './schema-fields.js'

export const DOCS_STYLE = `${TOKENS}
*{box-sizing:border-box}html{scroll-padding-top:1rem}
body{font:14px/20px var(--sans);margin:0;color:var(--ink);background:var(--canvas)}
a{color:inherit;text-decoration-color:var(--line);text-underline-offset:3px}a:focus-visible,summary:focus-visible,pre:focus-visible{outline:2px solid var(--people);outline-offset:2px}
.page{max-width:76rem;margin:0 auto;padding:1rem;display:grid;grid-template-columns:17rem minmax(0,1fr);gap:2.5rem}
nav{position:sticky;top:0;align-self:start;max-height:100vh;overflow:auto;font-size:.85rem;padding:1rem 0}
nav ul{list-style:none;margin:0 0 .8rem;padding:0}nav h2{font-size:.85rem;margin:.2rem 0}nav li{overflow-wrap:anywhere}
code,pre{font:.93em/1.45 var(--mono)}code{overflow-wrap:anywhere}
pre{overflow:auto;max-height:30rem;padding:.7rem;background:var(--panel);border:1px solid var(--rule);border-radius:8px;margin:.5rem 0}
h1{margin:.2rem 0;font:400 30px/40px var(--serif)}main h2{margin:2rem 0 .3rem;font:400 23px/34px var(--serif)}h3{margin:0;font-size:1.1rem}h4{margin:.9rem 0 .2rem;font-size:.9rem}
article{border-top:1px solid var(--rule);padding:1rem 0}article p,td p{margin:.25rem 0}h3 a{color:inherit;text-decoration:none}h3 a:hover{text-decoration:underline}
table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:left;vertical-align:top;padding:.25rem .8rem .25rem 0;border-bottom:1px solid var(--rule)}th{font-weight:600}td:first-child{min-width:13rem}
details{margin:.4rem 0}summary{cursor:pointer;font-weight:600;font-size:.9rem}.must{font-size:.8em;opacity:.8}
.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:.5rem;background:Canvas;padding:.3rem .6rem}
@media(max-width:52rem){.page{grid-template-columns:minmax(0,1fr);gap:0}nav{position:static;max-height:none;border-bottom:1px solid var(--rule)}nav ul{columns:2}
table,tbody,tr,td{display:block}thead{position:absolute;left:-99rem}tr{border-bottom:1px solid var(--rule);padding:.3rem 0}td,td:first-child{border:0;padding:0;min-width:0}}`

type Html = ReturnType<typeof html>

/** Renders a description; text between backticks is code. */
const inlineCode = (text: string): Html =>
  html`${text.split('`').map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : part))}`

const table = (heads: readonly string[], rows: Html[]): Html =>
  html`<table><thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead><tbody>${rows}</tbody></table>`

const nameCell = (texts: DocsTexts, text: string, required: boolean): Html =>
  html`<td><code>${text}</code>${required ? html` <span class="must">${texts.required}</span>` : ''}</td>`

const toText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Renders parameters; `anchor` is the link target of a shared one. */
const parameterTable = (texts: DocsTexts, parameters: readonly (Parameter & { anchor?: string })[]): Html =>
  table(
    [texts.parameter, texts.type, texts.description, texts.example],
    parameters.map(({ anchor, name, required, description, schema, content, example }) => {
      const value = content?.['application/json']
      return html`<tr${anchor === undefined ? '' : html` id="parameter-${anchor}"`}>${nameCell(texts, name, required)}<td>${
        value ? 'JSON' : describeType(schema ?? {})
      }${schema?.default === undefined ? '' : `, ${texts.default} ${toText(schema.default)}`}</td><td>${inlineCode(description ?? '')}</td><td><code>${toText(
        value ? value.example : example,
      )}</code></td></tr>`
    }),
  )

const fieldTable = (texts: DocsTexts, fields: readonly SchemaField[]): Html =>
  table(
    [texts.field, texts.type, texts.description],
    fields.map(
      ({ path, type, required, description }) =>
        html`<tr>${nameCell(texts, path, required)}<td>${type}</td><td>${inlineCode(description)}</td></tr>`,
    ),
  )

const jsonBlock = (value: unknown, label: string): Html =>
  html`<pre tabindex="0" role="region" aria-label="${label}">${
    typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  }</pre>`

const lastSegment = (reference: string): string => reference.split('/').at(-1) ?? ''

function operationArticle(texts: DocsTexts, path: string, method: string, operation: ApiOperation): Html {
  const parameters = (operation.parameters ?? []).flatMap((one) => ('$ref' in one ? [] : one))
  const common = (operation.parameters ?? []).flatMap((one) => ('$ref' in one ? lastSegment(one.$ref) : []))
  const replies = Object.entries(operation.responses)
  const failures = replies.flatMap(([status, one]) => ('$ref' in one ? [{ status, name: lastSegment(one.$ref) }] : []))
  const body = operation.requestBody?.content['application/json']
  const id = operation.operationId
  return html`<article id="${id}" aria-labelledby="${id}-title">
<h3 id="${id}-title"><a href="#${id}"><code>${method.toUpperCase()} ${path}</code></a></h3>
<p>${operation.summary}. ${operation.description}</p>
${parameters.length > 0 ? html`<h4>${texts.parameters}</h4>${parameterTable(texts, parameters)}` : ''}
${
  common.length > 0
    ? html`<p>${parameters.length > 0 ? texts.alsoAccepts : texts.accepts} ${common.map(
        (name, i) => html`${i > 0 ? ', ' : ''}<a href="#parameter-${name}"><code>${name.replace(/_+$/, '')}</code></a>`,
      )}.</p>`
    : ''
}
${body ? html`<details><summary>${texts.body}</summary>${fieldTable(texts, listFields(body.schema))}</details>` : ''}
${replies.map(([status, reply]) => ('$ref' in reply ? '' : responseDetails(texts, status, reply)))}
<details><summary>${texts.example}</summary>${operation['x-codeSamples']?.map(({ source }) => jsonBlock(source, texts.request))}${replies.map(
    ([status, reply]) =>
      '$ref' in reply || reply.content?.['application/json']?.example === undefined || !status.startsWith('2')
        ? ''
        : jsonBlock(reply.content['application/json'].example, texts.response),
  )}</details>
${
  failures.length > 0
    ? html`<p>${texts.errors}: ${failures.map(
        ({ status, name }, i) => html`${i > 0 ? ', ' : ''}<a href="#failure-${name}">${status}</a>`,
      )}.</p>`
    : ''
}</article>`
}

function responseDetails(texts: DocsTexts, status: string, { description, content = {} }: ApiResponseObject): Html {
  const [[type, value] = []] = Object.entries(content)
  if (type === undefined || value === undefined) return html`<p>${status}: ${description}</p>`
  const fields = listFields(value.schema)
  if (fields.length === 0) return html`<p>${status}: ${description} (<code>${type}</code>)</p>`
  return html`<details><summary>${status}: ${description}</summary>${fieldTable(texts, fields)}</details>`
}

const errorArticle = (
  texts: DocsTexts,
  name: string,
  { description, content, headers = {} }: ApiResponseObject,
): Html => {
  const [status] = [content?.['application/json']?.example]
  return html`<article id="failure-${name}"><h3>${name}</h3><p>${inlineCode(description)}</p>${Object.entries(
    headers,
  ).map(
    ([header, { description }]) => html`<p><code>${header}</code>: ${description}</p>`,
  )}${jsonBlock(status, `${name}: ${texts.response}`)}</article>`
}

/** Renders the API document as one HTML page without scripts, styles or images from elsewhere. Summaries
 * and descriptions are those of the document, in English in every language. */
export function docsPage(document: OpenApiDocument, language: Language): Html {
  const texts = docsTexts[language]
  const { tags, paths, components, info } = document
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const of = (tag: string) => operations.filter(({ operation }) => operation.tags.includes(tag))
  return html`<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>readership API</title><style>${raw(DOCS_STYLE)}</style></head><body>
<a class="skip" href="#main">${texts.skip}</a>
<div class="page"><nav aria-label="${texts.endpoints}">${tags.map(
    ({ name }) =>
      html`<h2><a href="#tag-${name}">${name}</a></h2><ul>${of(name).map(
        ({ path, method, operation }) =>
          html`<li><a href="#${operation.operationId}">${method === 'get' ? '' : `${method.toUpperCase()} `}${path}</a></li>`,
      )}</ul>`,
  )}<h2>${texts.reference}</h2><ul><li><a href="#parameters">${texts.parameters}</a></li><li><a href="#filters">${texts.filters}</a></li><li><a href="#meta">Meta</a></li><li><a href="#failures">${texts.errors}</a></li></ul></nav>
<main id="main"><h1>readership API</h1>
<p><span lang="en">${info.description}</span> ${texts.version} ${info.version}. ${texts.alsoOpenApi} <a href="openapi.json">openapi.json</a>. <a href="../docs/">${texts.guide}</a></p>
<p>${inlineCode(texts.createKey)}</p>
<pre tabindex="0" role="region" aria-label="${texts.request}">SERVICE=http://127.0.0.1:8081 # ${texts.ownAddress}
curl -H "Authorization: Bearer $KEY" "$SERVICE/api/stats/overview?site=1&amp;range=7d"</pre>
<p>${inlineCode(texts.answers)}</p>
${tags.map(
  ({ name, description }) =>
    html`<section aria-labelledby="tag-${name}"><h2 id="tag-${name}">${name}</h2><p>${description}</p>${of(name).map(
      ({ path, method, operation }) => operationArticle(texts, path, method, operation),
    )}</section>`,
)}
<section aria-labelledby="parameters"><h2 id="parameters">${texts.sharedParameters}</h2>${parameterTable(
    texts,
    Object.entries(components.parameters).map(([anchor, one]) => ({ ...one, anchor })),
  )}</section>
<section aria-labelledby="filters"><h2 id="filters">${texts.filters}</h2><p>${components.schemas.Filters?.description ?? ''} Groups:
<code>{"and": […]}</code>, <code>{"or": […]}</code>, <code>{"not": {…}}</code>, and for what a visitor did elsewhere in the window
<code>{"has_done": {…}}</code>, <code>{"has_not_done": {…}}</code>. A condition has:</p>${fieldTable(
    texts,
    listFields(components.schemas.Condition ?? {}),
  )}</section>
<section aria-labelledby="meta"><h2 id="meta">Meta</h2><p>${components.schemas.Meta?.description ?? ''}</p>${fieldTable(
    texts,
    listFields(components.schemas.Meta ?? {}),
  )}</section>
<section aria-labelledby="failures"><h2 id="failures">${texts.errors}</h2>${fieldTable(
    texts,
    listFields(components.schemas.Error ?? {}),
  )}${Object.entries(components.responses).map(([name, reply]) => errorArticle(texts, name, reply))}</section>
</main></div></body></html>`
}
