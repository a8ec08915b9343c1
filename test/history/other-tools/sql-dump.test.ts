import t from 'tap'
import { createDumpReader } from '../../../src/history/other-tools/sql-dump.js'

const MYSQL = '-- MySQL dump 10.13\n'
const POSTGRESQL = '--\n-- PostgreSQL database dump\n--\n'
const CREATE = 'CREATE TABLE `t` (\n  `a` int NOT NULL,\n  `b` text,\n  PRIMARY KEY (`a`)\n) ENGINE=InnoDB;\n'
const NAMED = ['a', 'b']

/** Dumps, and the rows of the table `t` with the names of its columns, or the message with which they are refused. */
const DUMPS: readonly (readonly [text: string, rows: readonly string[][] | RegExp, why: string])[] = [
  [`${MYSQL}${CREATE}INSERT INTO \`t\` VALUES (1,'x'),(2,NULL);\n`, [NAMED, ['1', 'x'], ['2', '']], 'mysqldump'],
  [
    `${MYSQL}${CREATE}INSERT INTO \`t\` VALUES (1,'it\\'s'),(2,'a''b);'),(3,'\\\\');\n`,
    [NAMED, ['1', "it\\'s"], ['2', "a''b);"], ['3', '\\\\']],
    'quotes, and a list that ends in a text',
  ],
  [`${MYSQL}INSERT INTO \`t\` (\`a\`, \`b\`) VALUES (1,_binary 'x');\n`, [NAMED, ['1', 'x']], '--complete-insert'],
  [
    `/*M!999999\\- enable the sandbox mode */\n-- MariaDB dump 10.19\n${CREATE}INSERT INTO \`t\` VALUES\n(1,'x'),\n(2,'y');\n`,
    [NAMED, ['1', 'x'], ['2', 'y']],
    'a list a line, as newer MariaDB writes it',
  ],
  [
    `${MYSQL}INSERT INTO \`t\` VALUES (1,'x');\n`,
    /does not name the columns of t: add --complete-insert/,
    'no columns',
  ],
  [
    `${POSTGRESQL}COPY public.t (a, b) FROM stdin;\n1\t\\N\n2\tx\\ty\n\\.\n3\tz\n`,
    [NAMED, ['1', ''], ['2', 'x\\ty']],
    'pg_dump; nothing follows the end',
  ],
  [`${POSTGRESQL}COPY "t" (a, "b") FROM stdin;\r\n1\tx\r\n\\.\r\n`, [NAMED, ['1', 'x']], 'names in quotes, and CRLF'],
  [
    `${POSTGRESQL}CREATE TABLE public.t (\n    a integer NOT NULL,\n    "b" text,\n    CONSTRAINT c CHECK ((a > 0))\n);\nINSERT INTO public.t VALUES (1, 'C:\\');\nINSERT INTO public.t VALUES (2, 'two\nlines');\n`,
    [NAMED, ['1', 'C:\\'], ['2', 'two\nlines']],
    '--inserts: a backslash is a character',
  ],
  [
    `${POSTGRESQL}COPY public.other (a) FROM stdin;\nCOPY public.t (a, b) FROM stdin;\n1\tx\n\\.\nCOPY public.t (a, b) FROM stdin;\n2\ty\n\\.\n`,
    [NAMED, ['2', 'y']],
    'a text of another table that looks like a statement',
  ],
  [
    `${MYSQL}INSERT INTO \`long\` VALUES ('${'x'.repeat(30_000)}');\n${CREATE}INSERT INTO \`t\` VALUES (1,'x');\n`,
    [NAMED, ['1', 'x']],
    'a long line of another table',
  ],
  [
    `${MYSQL}${CREATE}INSERT INTO \`t\` VALUES (1,'${'x'.repeat(1_100_000)}`,
    /a row of the dump has no end/,
    'an open quote',
  ],
  [`${MYSQL}${CREATE}INSERT INTO \`tt\` VALUES (1,'x');\n`, [], 'another table'],
]

t.test('rows of one table, whatever the pieces', (t) => {
  for (const [text, expected, why] of DUMPS)
    for (const size of text.length > 10_000 ? [4_096, 262_144] : [1, 7, 262_144]) {
      const read = () => {
        const reader = createDumpReader('t', text.slice(0, 65_536))
        const rows: string[][] = []
        for (let at = 0; at < text.length; at += size) rows.push(...reader.push(text.slice(at, at + size)))
        return [...rows, ...reader.push('', true)]
      }
      if (expected instanceof RegExp) t.throws(read, { message: expected }, why)
      else t.strictSame(read(), expected, `${why}, by ${size}`)
    }
  t.end()
})
