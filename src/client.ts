export * from './dashboard/client/index.js'
