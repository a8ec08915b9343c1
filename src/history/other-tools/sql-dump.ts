/** The text at the beginning of a dump by pg_dump, pg_dumpall, mysqldump or mariadb-dump. */
const DUMP_HEAD = /^-- (PostgreSQL database|MySQL|MariaDB)(?: cluster)? dump\b/m
/** A statement that has rows or columns of a table, with its table and the columns that it names. */
const STATEMENT =
  /^(COPY|INSERT INTO|CREATE TABLE)(?: IF NOT EXISTS)? (?:[`"]?\w+[`"]?\.)?[`"]?(\w+)[`"]? ?(?:\(([^()]*)\) ?)?(FROM stdin;|VALUES\s*)?/
const COLUMN = /^\s*(?:`(\w+)`|"?([a-z_]\w*)"?) /
const LIST_START = /\s*\(/y
/** MySQL ends a text with a quote that no backslash precedes; in PostgreSQL a backslash is a character. */
const VALUES = {
  mysql: /\s*(?:_binary )?(?:'((?:[^'\\]|\\[\s\S]|'')*)'|([^,()']+))\s*([,)])/y,
  postgresql: /\s*(?:'((?:[^']|'')*)'|([^,()']+))\s*([,)])/y,
}
const LIST_END = /\s*([,;])/y
/** A statement's beginning is shorter, and so is the row of a table of hits. */
const MAX_HEAD_CHARS = 8_192
const MAX_ROW_CHARS = 1_000_000

export const isSqlDump = (head: string): boolean => DUMP_HEAD.test(head.slice(0, 4_096))

/** Whether a file is pg_dump's archive, which only pg_restore reads. */
export const isPgArchive = (head: string): boolean => head.startsWith('PGDMP')

/**
 * Reads the rows of one table from pieces of a dump: first the names of its columns, then the cells of each row; a null is
 * an empty cell. Escapes are left as they are, since ids, times and numbers have none.
 */
export function createDumpReader(table: string, head: string) {
  const value = VALUES[/^-- PostgreSQL/m.test(head) ? 'postgresql' : 'mysql']
  let rest = ''
  let state: 'statement' | 'other_line' | 'columns' | 'rows' | 'other_rows' | 'lists' = 'statement'
  let columns: string[] = []
  let isNamed = false
  let completeRows: string[][] = []

  const addRow = (cells: string[]) => {
    if (columns.length === 0) throw new Error(`the dump does not name the columns of ${table}: add --complete-insert`)
    if (!isNamed) completeRows.push(columns)
    isNamed = true
    completeRows.push(cells)
  }
  /** Reads a statement's beginning, and returns where reading continues. */
  const readStatement = (text: string, at: number): number => {
    const [all = '', verb, name, named, rows] = STATEMENT.exec(text.slice(at, at + MAX_HEAD_CHARS)) ?? []
    const isOurs = name === table
    if (isOurs && named !== undefined) columns = named.split(',').map((column) => column.replace(/[\s`"]/g, ''))
    if (verb === 'INSERT INTO' && isOurs && rows !== undefined) {
      state = 'lists'
      return at + all.length
    }
    if (verb === 'COPY' && rows !== undefined) state = isOurs ? 'rows' : 'other_rows'
    else if (verb === 'CREATE TABLE' && isOurs) {
      state = 'columns'
      columns = []
    } else {
      state = 'other_line'
      return at
    }
    return text.indexOf('\n', at) + 1 || text.length
  }
  const readLine = (line: string): void => {
    if (state === 'columns') {
      const [, quoted, plain] = COLUMN.exec(line) ?? []
      const column = quoted ?? plain
      if (line.startsWith(')')) state = 'statement'
      else if (column !== undefined) columns.push(column)
    } else if (state === 'other_line' || line === '\\.') state = 'statement'
    else if (state === 'rows') addRow(line.split('\t').map((cell) => (cell === '\\N' ? '' : cell)))
  }
  /** Reads the next part, and returns where it ends; undefined if it is not complete. */
  const step = (text: string, at: number, isLast: boolean): number | undefined => {
    if (at >= text.length) return undefined
    if (state === 'lists') {
      const list = readList(text, at, value)
      if (list === undefined) return undefined
      addRow(list.cells)
      if (list.isLast) state = 'other_line'
      return list.end
    }
    const newline = text.indexOf('\n', at)
    if (state === 'statement' && (isLast || newline >= 0 || text.length - at >= MAX_HEAD_CHARS))
      return readStatement(text, at)
    if (newline < 0) return undefined
    readLine(text.slice(at, newline).replace(/\r$/, ''))
    return newline + 1
  }
  return {
    /** Returns the rows that are complete with this piece. Throws if a row has no end. */
    push(piece: string, isLast = false): string[][] {
      const text = rest + piece
      let at = 0
      for (let next = step(text, at, isLast); next !== undefined; next = step(text, at, isLast)) at = next
      rest = text.slice(at)
      // Other tables may have lines of any length.
      if (rest.length > MAX_HEAD_CHARS && state.startsWith('other_')) rest = 'cut'
      if (rest.length > MAX_ROW_CHARS) throw new Error('a row of the dump has no end')
      const rows = completeRows
      completeRows = []
      return rows
    },
  }
}

/** Reads the list of values at `start`; undefined if the text ends before it does. `isLast` ends the statement. */
function readList(text: string, start: number, value: RegExp) {
  LIST_START.lastIndex = start
  if (!LIST_START.test(text)) return undefined
  const cells: string[] = []
  value.lastIndex = LIST_START.lastIndex
  for (let next = ''; next !== ')'; ) {
    const [all, quoted, plain = '', separator] = value.exec(text) ?? []
    if (all === undefined || separator === undefined) return undefined
    cells.push(quoted ?? (plain.trim() === 'NULL' ? '' : plain.trim()))
    next = separator
  }
  LIST_END.lastIndex = value.lastIndex
  const [, end] = LIST_END.exec(text) ?? []
  return end === undefined ? undefined : { cells, end: LIST_END.lastIndex, isLast: end === ';' }
}
