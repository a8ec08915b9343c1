/** The address of the repository, whose README leads to every page. */
export const REPOSITORY = 'https://github.com/readership/readership'

/** The address of the repository's files, for messages that name a page: the package has no pages. */
export const REPOSITORY_FILES = `${REPOSITORY}/blob/main`
