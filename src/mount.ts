/** What adapters are made of, without the service behind it: it loads where there is no Node as well. */
export { BASE_PATH, type MountOptions, mount, peerAddress } from './proxy/bridge.js'
export { type Watched, watchWeb } from './proxy/web.js'
