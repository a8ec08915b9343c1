export { runProgram } from './program.js'
export type { Terminal } from './terminal.js'
