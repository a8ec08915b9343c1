import { compile, type Param, type Sql } from '../../storage/sql.js'

/** Text of a statement that a person can read and run: values as literals, one clause a line. */
export const formatStatement = (statement: Sql): string => layOut(compile(statement, (_, value) => literal(value)).text)

function literal(value: Param): string {
  if (value instanceof Date) return `timestamp '${value.toISOString().replace('T', ' ').replace('Z', '')}'`
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)
}

const TOKEN = /(\s*)('(?:[^']|'')*'|\/\*.*?\*\/|[(),]|[^\s(),']+)/gs
const CLAUSE = /^(select|from|where|group|having|order|limit|union|left|full|cross|join)$/
/** A clause keyword after one of these words continues it: `left join`, `is distinct from`. */
const CONTINUES = /^(left|outer|cross|distinct)$/
const WRAP_AFTER = 90

/** Puts each clause of a query and each `and` of its conditions on a line of its own, subqueries indented. */
function layOut(text: string): string {
  const tokens = [...text.matchAll(TOKEN)].map(([, space = '', word = '']) => ({ space: space !== '', word }))
  const lines: string[] = []
  let line = ''
  // The stack of open parentheses. `query`: it holds a query, whose clauses start lines. `indent`: of the line it is on.
  const open: { query: boolean; indent: number }[] = [{ query: true, indent: -2 }]
  let cases = 0
  let betweens = 0
  const breakLine = (indent: number) => {
    if (line.trim() !== '') lines.push(line.trimEnd())
    line = ' '.repeat(indent)
  }
  tokens.forEach(({ space, word }, i) => {
    const before = tokens[i - 1]?.word ?? ''
    if (word === ')') {
      const closed = open.pop()
      if (closed?.query) breakLine(closed.indent)
      line += word
      return
    }
    const { query = true, indent = -2 } = open.at(-1) ?? {}
    if (query && CLAUSE.test(word) && !CONTINUES.test(before)) breakLine(indent + 2)
    else if (query && word === 'and' && cases === 0 && betweens === 0) breakLine(indent + 4)
    else if (query && before === ',' && line.length > WRAP_AFTER) breakLine(indent + 6)
    else if (space && before !== '(' && word !== ',' && line.trim() !== '') line += ' '
    if (word === 'case') cases += 1
    if (word === 'end') cases -= 1
    if (word === 'between') betweens += 1
    if (word === 'and' && betweens > 0) betweens -= 1
    line += word
    if (word !== '(') return
    const inner = { query: /^(select|with|\/\*.*)$/.test(tokens[i + 1]?.word ?? ''), indent: line.search(/\S/) }
    open.push(inner)
    if (inner.query) breakLine(inner.indent + 2)
  })
  return [...lines, line].join('\n').trim()
}
