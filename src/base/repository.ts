/** The address of the repository's files, for messages that name a page: the package has no pages. */
export const REPOSITORY_FILES = 'https://github.com/readership/readership/blob/main'
