import { z } from 'zod'

/** A pattern of whole paths: `*` matches within a segment, `**` across segments. */
export const PathPattern = z
  .string()
  .max(200, 'A pattern has at most 200 characters.')
  .regex(/^[/*]/, 'A pattern matches the whole path: it must begin with / or *.')
  .regex(/^[^\p{Cc}\p{Cs}]*$/u, 'A pattern must not contain control characters.')
  .refine((text) => (text.match(/\*\*/g) ?? []).length <= 2, 'A pattern can contain ** at most twice.')

/** Paths of data as an option has them: patterns with commas between, or `none`. */
export const DataPathList = z
  .string()
  .max(4_000, 'At most 4,000 characters.')
  .transform((text) => (text === 'none' ? [] : text.split(',').map((one) => one.trim())))
  .pipe(z.array(PathPattern))
