/** A script or style whose name changes with its content. */
export interface AssetName {
  /** The path with `*` in place of the part that changes. */
  readonly stem: string
  /** The part that changes: a hash of the content, or the id of a build. */
  readonly hash: string
}

/** A longer path is not read; build tools write much shorter ones. */
const MAX_CHARACTERS = 200
/** Rollup, Vite and esbuild write 8 characters, also `-` and `_`; others write 8 to 64 letters and digits. */
const HASHED = /.[.-]([\w-]{8}|[A-Za-z0-9]{9,64})(?:\.(?:chunk|min|bundle))*\.(?:m?js|css)$/
/** A word, such as the end of `bootstrap-datepicker.js`. */
const WORD = /^[A-Z]?[a-z_-]+$/
/** Next.js names a folder by the build, and in it two files that every page loads. */
const NEXT_BUILD = /(?<=\/_next\/static\/)([\w.-]{4,64})(?=\/_(?:build|ssg)Manifest\.js$)/

/** Reads the hash in the path of a script or style; undefined if it has none, or nothing but a hash. */
export function readAssetName(pathname: string): AssetName | undefined {
  if (pathname.length > MAX_CHARACTERS) return undefined
  const file = pathname.slice(pathname.lastIndexOf('/') + 1)
  const hash = (file.startsWith('_') ? NEXT_BUILD.exec(pathname) : HASHED.exec(file))?.[1]
  if (hash === undefined || WORD.test(hash)) return undefined
  const start = pathname.lastIndexOf(hash)
  return { stem: `${pathname.slice(0, start)}*${pathname.slice(start + hash.length)}`, hash }
}
