/** @type {import('next').NextConfig} */
export default {
  // For a route, an action or `instrumentation.js` that imports readership, which starts its worker from files of the
  // package. `server.js` is not bundled and works without.
  serverExternalPackages: ['readership'],
  // For `.next/standalone/server.js` behind the proxy. A custom server does not need it.
  output: 'standalone',
}
