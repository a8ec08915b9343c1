import { cpSync } from 'node:fs'

/** The part of `npm run build` that is not compilation: data files go beside the code that reads them. */
cpSync('src', 'dist/src', { recursive: true, filter: (file) => !/\.tsx?$/.test(file) })
