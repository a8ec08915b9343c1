/** What adapters are made of, without the service behind it: it loads where there is no Node as well. */
export { BASE_PATH, type MountOptions, mount, peerAddress } from './proxy/node-handler.js'
export { type ObservedWebResponse, observeWeb } from './proxy/observe-web.js'
