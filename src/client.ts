export * from './browser/dashboard/client/index.js'
