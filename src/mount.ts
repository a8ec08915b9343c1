/** The parts that adapters use, without the service: this module also loads on runtimes that lack Node's modules. */
export { type MountOptions, mount, peerAddress } from './site/proxy/node-handler.js'
export { observeWeb } from './site/proxy/observe-web.js'
