/** The logger that the parts of an instance write to; `details` are the fields of a structured log line. */
export interface Log {
  info(details: object, message: string): void
  warn(details: object, message: string): void
  error(details: object, message: string): void
  /** Events of each second, for the search of a fault. */
  debug?(details: object, message: string): void
}
