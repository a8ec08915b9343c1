/** The parts that adapters use, without the service: this module also loads on runtimes that lack Node's modules. */
export { BASE_PATH, type MountOptions, mount, peerAddress } from './proxy/node-handler.js'
export { type ObservedWebResponse, observeWeb } from './proxy/observe-web.js'
