import { z } from 'zod'
import type { AuditActor } from './audit.js'
import { JsonText } from './fields.js'

/** The author of a record as it is stored: the account of a person, not its address, or the name of another actor. */
export const Author = z.union([z.strictObject({ user: z.int() }), z.strictObject({ name: z.string() })])
export type Author = z.infer<typeof Author>

/** Parses a column of an author. */
export const AuthorColumn = JsonText.pipe(Author)

export const authorOf = ({ name, user }: AuditActor): Author => (user === undefined ? { name } : { user })

/** Returns an author as the API shows it: an e-mail address, the prefix of an API key, `operator`, or `deleted account`. */
export const presentAuthor = async (
  author: Author,
  users: { get(id: number): Promise<{ readonly email: string } | undefined> },
): Promise<string> => ('name' in author ? author.name : ((await users.get(author.user))?.email ?? 'deleted account'))
