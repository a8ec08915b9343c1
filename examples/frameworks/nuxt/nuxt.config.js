export default defineNuxtConfig({
  app: { head: { script: [{ src: '/_readership/script.js?site=1', defer: true }] } },
  // Builds a listener without a server of its own, which `server.js` makes. It serves the files of `.output/public` too.
  nitro: { preset: 'node', serveStatic: true },
})
